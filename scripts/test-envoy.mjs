// The Envoy of the tests.

/** Resolves to its path: the one that the environment names, or what Gatehouse itself finds or installs. Needs a build. */
export async function testEnvoy(say) {
  const { findEnvoy } = await import('../dist/cli/run-envoy/find-envoy.js')
  const told = process.env['GATEHOUSE_TEST_ENVOY']
  const given = told === undefined ? {} : { explicit: told }
  return findEnvoy({ environment: process.env, onNote: say, ...given })
}

// npm test -- --project mesh: runs test/mesh with third-party control planes, built from their Go modules if missing: Envoy
// Gateway, and istiod with an API server. They run in a separate network namespace, because some of their ports cannot
// be chosen. Arguments are passed to vitest.

import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { goProgram } from './go-program.mjs'
import { findHelm } from './helm.mjs'
import { cluster, goModule, kubectl } from './kubernetes.mjs'
import { runScript } from './runtime.mjs'
import { setup } from './setup.mjs'
import { root } from './stale.mjs'
import { runVitest } from './vitest.mjs'

const say = (text) => process.stderr.write(`mesh: ${text}\n`)

const built = (name) =>
  goProgram({ name, module: join(root, 'test/mesh', name), takes: 'five to ten minutes', say })

/** Returns a path within a module, of the version that a test's program is built of. */
function pathIn(module, name, path) {
  const { Require: required } = JSON.parse(
    execFileSync('go', ['mod', 'edit', '-json'], {
      cwd: join(root, 'test/mesh', name),
      encoding: 'utf8',
    }),
  )
  const { Version: version } = required.find((one) => one.Path === module)
  return goModule(`${module}@${version}`, path)
}

await runScript(async () => {
  await setup()
  const programs = {
    GATEHOUSE_TEST_HELM: findHelm(say),
    GATEHOUSE_TEST_KUBECTL: kubectl(),
    GATEHOUSE_TEST_ENVOY_GATEWAY: built('envoy-gateway'),
    GATEHOUSE_TEST_ISTIOD: built('istiod'),
    GATEHOUSE_TEST_ENVOY_GATEWAY_DEFINITIONS: pathIn(
      'github.com/envoyproxy/gateway',
      'envoy-gateway',
      'charts/gateway-crds-helm/templates/generated',
    ),
    GATEHOUSE_TEST_ISTIO_DEFINITIONS: pathIn(
      'istio.io/istio',
      'istiod',
      'manifests/charts/base/files',
    ),
  }
  return runVitest(['run', '--project', 'mesh', ...process.argv.slice(2)], await cluster(programs))
})

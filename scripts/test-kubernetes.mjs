// npm test -- --project kubernetes: runs test/kubernetes with a real API server. Arguments are passed to vitest, e.g.
// `npm test -- --project kubernetes provider`.

import { findHelm } from './helm.mjs'
import { cluster } from './kubernetes.mjs'
import { lastRelease } from './last-release.mjs'
import { meshDefinitions } from './mesh-modules.mjs'
import { runScript } from './runtime.mjs'
import { setup } from './setup.mjs'
import { namedIn, runsOf } from './test-files.mjs'
import { runVitest } from './vitest.mjs'

const say = (text) => process.stderr.write(`kubernetes: ${text}\n`)

const isRun = runsOf('kubernetes', namedIn(process.argv.slice(2)))

await runScript(async () => {
  await setup()
  const programs = { GATEHOUSE_TEST_HELM: findHelm(say), ...meshDefinitions() }
  if (isRun('test/kubernetes/upgrade.test.ts'))
    programs.GATEHOUSE_TEST_LAST_RELEASE = lastRelease(say)
  const args = ['run', '--project', 'kubernetes', ...process.argv.slice(2)]
  return runVitest(args, await cluster(programs))
})

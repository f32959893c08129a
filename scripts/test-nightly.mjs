// npm run test:nightly: runs the tests that take too long for every change (long streams, floods, soaks), then those in
// a cluster, the properties of the unit tests twice their full number of times, and the whole suite ten times on a busy
// machine. Arguments are passed to vitest, e.g.
// `npm run test:nightly -- guarded-load`; then only the matching files of test/nightly run.

import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { runScript } from './runtime.mjs'
import { setup } from './setup.mjs'
import { root } from './stale.mjs'

const PROJECTS = ['unit', 'isolated', 'long'].flatMap((name) => ['--project', name])

await runScript(async () => {
  await setup()
  const vitest = join(root, 'node_modules/vitest/vitest.mjs')
  const args = [vitest, 'run', '--project', 'nightly', ...process.argv.slice(2)]
  const env = { ...process.env, GATEHOUSE_NIGHTLY: 'yes' }
  const { status } = spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit', env })
  if (status !== 0 || process.argv.length > 2) return status ?? 1
  const properties = [vitest, 'run', ...PROJECTS]
  return (
    run([join(root, 'scripts/test-cluster.mjs')]) ||
    run([...properties, '--test-timeout=600000'], { GATEHOUSE_TEST_RUNS: '2' }) ||
    run([join(root, 'scripts/test-busy.mjs')])
  )
})

function run(command, more = {}) {
  const env = { ...process.env, ...more }
  return spawnSync(process.execPath, command, { cwd: root, stdio: 'inherit', env }).status ?? 1
}

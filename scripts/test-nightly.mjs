// npm run test:nightly: what takes too long for every change (long streams, floods, soaks).
// Arguments go to vitest, e.g. `npm run test:nightly -- long-streams`: then only those files of test/nightly run.

import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { runScript } from './runtime.mjs'
import { setup } from './setup.mjs'
import { root } from './stale.mjs'

await runScript(async () => {
  await setup()
  const vitest = join(root, 'node_modules/vitest/vitest.mjs')
  const args = [vitest, 'run', '--project', 'nightly', ...process.argv.slice(2)]
  const env = { ...process.env, GATEHOUSE_NIGHTLY: 'yes' }
  return spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit', env }).status ?? 1
})

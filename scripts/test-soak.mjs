// node scripts/test-soak.mjs: runs test/soak, what takes minutes each: floods, soaks and long streams. Arguments are
// passed to vitest, e.g. `node scripts/test-soak.mjs guarded-load`.

import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { runScript } from './runtime.mjs'
import { setup } from './setup.mjs'
import { root } from './stale.mjs'

await runScript(async () => {
  await setup()
  const vitest = join(root, 'node_modules/vitest/vitest.mjs')
  const args = [vitest, 'run', '--project', 'soak', ...process.argv.slice(2)]
  const env = { ...process.env, GATEHOUSE_TEST_SOAK: 'yes' }
  return spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit', env }).status ?? 1
})

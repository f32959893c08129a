// npm test: sets up what is missing, then runs every test. Arguments are passed to vitest, e.g.
// `npm test -- test/settings`. The integration tests find Envoy and Python's MCP client themselves
// (test/support/global-setup.ts).

import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { runScript } from './runtime.mjs'
import { setup } from './setup.mjs'
import { root } from './stale.mjs'

await runScript(async () => {
  await setup()
  const vitest = join(root, 'node_modules/vitest/vitest.mjs')
  const args = [vitest, 'run', ...process.argv.slice(2)]
  return spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' }).status ?? 1
})

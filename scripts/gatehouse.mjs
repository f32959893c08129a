// npm run gatehouse -- COMMAND, and npm run demo: sets up what is missing, then runs `gatehouse` with the arguments.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { MALLOC } from './malloc.mjs'
import { runScript } from './runtime.mjs'
import { setup } from './setup.mjs'
import { root } from './stale.mjs'

/** The flags of the first line of the program (decision 34). */
const FLAGS = [
  '--max-semi-space-size=16',
  '--heap-growing-percent=150',
  '--no-allocation-site-pretenuring',
]

await runScript(async () => {
  await setup()
  const args = [...FLAGS, join(root, 'dist/main.js'), ...process.argv.slice(2)]
  const env = { ...MALLOC, ...process.env }
  const child = spawn(process.execPath, args, { stdio: 'inherit', env })
  // Ctrl-C reaches the child directly, because it shares the terminal; this process only waits for it to exit.
  process.on('SIGINT', () => {})
  process.on('SIGTERM', () => child.kill('SIGTERM'))
  const [code] = await once(child, 'close')
  return code ?? 1
})

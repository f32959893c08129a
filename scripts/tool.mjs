// node scripts/tool.mjs NAME ARGUMENTS: runs a program of node_modules/.bin on a suitable Node (scripts/runtime.mjs).

import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { runScript } from './runtime.mjs'
import { root } from './stale.mjs'

const [name, ...args] = process.argv.slice(2)

await runScript(() => {
  const program = join(root, 'node_modules/.bin', name)
  return spawnSync(process.execPath, [program, ...args], { stdio: 'inherit' }).status ?? 1
})

// npm run check: types, lint and format, beside each other. What a program prints is shown when it has ended.

import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { runScript } from './runtime.mjs'
import { root } from './stale.mjs'

/** The longest first, as a machine may have fewer cores than there are programs. */
const CHECKS = [
  ['eslint', '.'],
  ['tsc', '--noEmit', '-p', 'tsconfig.json'],
  ['prettier', '--check', '.'],
  ['tsc', '--noEmit', '-p', 'src/status-client/tsconfig.json'],
]

await runScript(async () => {
  const codes = await Promise.all(CHECKS.map((check) => codeOf(...check)))
  return codes.every((code) => code === 0) ? 0 : 1
})

/** Resolves to the exit code. */
function codeOf(name, ...args) {
  const program = join(root, 'node_modules/.bin', name)
  const options = { cwd: root, maxBuffer: Infinity }
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [program, ...args], options, (_, stdout, stderr) => {
      const result = child.exitCode === 0 ? 'passed' : 'FAILED'
      process.stdout.write(`${[name, ...args].join(' ')}: ${result}\n${stdout}${stderr}`)
      resolve(child.exitCode)
    })
    child.stdin.end()
  })
}

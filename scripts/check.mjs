// npm run check: types, lint and format, beside each other, and the tests about files, comments and docs. What a program
// prints is shown if it fails.

import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { runScript } from './runtime.mjs'
import { root } from './stale.mjs'

/** Tests that read the repository and run nothing of it. */
const HABITS = [
  'architecture',
  'source-files',
  'doc-comments',
  'docs',
  'decisions',
  'tests-page',
].map((name) => `test/${name}.test.ts`)

/** The longest first, as a machine may have fewer cores than there are programs. */
const CHECKS = [
  ['eslint', '.'],
  ['tsc', '--noEmit', '-p', 'tsconfig.json'],
  ['prettier', '--check', '.'],
  ['tsc', '--noEmit', '-p', 'src/ops/status-client/tsconfig.json'],
  ['vitest', 'run', '--project', 'unit', '--reporter=dot', ...HABITS],
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
      const what = [name, ...args].join(' ')
      const isPassed = child.exitCode === 0
      process.stdout.write(isPassed ? `${what}: passed\n` : `${what}: FAILED\n${stdout}${stderr}`)
      resolve(child.exitCode)
    })
    child.stdin.end()
  })
}

// Starts vitest, and keeps a report of the run (`npm run flakes`).

import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { root } from './stale.mjs'

const VITEST = join(root, 'node_modules/vitest/vitest.mjs')
const REPORT = join(root, 'scripts/vitest-report.mjs')
const SIGNALS = ['SIGTERM', 'SIGHUP']

/**
 * Runs vitest on this Node. Resolves to its exit code.
 * @param args its arguments, such as run --project unit. The reporters that they name are on the terminal as ever.
 * @param options.env its environment.
 * @param options.within a command and its arguments that run another command, e.g. in a network namespace.
 */
export function runVitest(args, { env = process.env, within = [] } = {}) {
  const isNamed = args.some((arg) => /^--reporters?(?:=|$)/.test(arg))
  const reporters = [...(isNamed ? [] : usualReporters(env)), REPORT]
  const all = [VITEST, ...args, ...reporters.map((name) => `--reporter=${name}`)]
  const [program, ...rest] = [...within, process.execPath, ...all]
  const child = spawn(program, rest, { cwd: root, stdio: 'inherit', env })
  // Ctrl-C reaches vitest directly, because it shares the terminal; this process waits for it to exit.
  const wait = () => {}
  const kill = (signal) => child.kill(signal)
  process.on('SIGINT', wait)
  for (const signal of SIGNALS) process.on(signal, kill)
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => {
      process.off('SIGINT', wait)
      for (const signal of SIGNALS) process.off(signal, kill)
      resolve(code ?? 1)
    })
  })
}

/** Returns those that vitest takes if none is named. */
const usualReporters = (env) =>
  env['GITHUB_ACTIONS'] === 'true' ? ['default', 'github-actions'] : ['default']

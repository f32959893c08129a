// Runs the README's test command on a busy machine: half of its cores are kept busy meanwhile.
// `node scripts/test-busy.mjs [TIMES]`, default 10; stops at the first failing run.

import { spawn, spawnSync } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { runScript } from './runtime.mjs'
import { root } from './stale.mjs'

const BUSY = Math.max(1, Math.floor(availableParallelism() / 2))

/** Starts stress-ng if it is installed, otherwise busy loops. */
function keepBusy() {
  const hasStress = spawnSync('stress-ng', ['--version'], { stdio: 'ignore' }).status === 0
  if (hasStress) return [spawn('stress-ng', ['--cpu', String(BUSY)], { stdio: 'ignore' })]
  const loop = () => spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' })
  return Array.from({ length: BUSY }, loop)
}

await runScript(async () => {
  const times = Number(process.argv[2] ?? 10)
  const busy = keepBusy()
  const stop = () => busy.forEach((child) => child.kill())
  process.once('exit', stop)
  try {
    for (let time = 1; time <= times; time++) {
      process.stderr.write(`test-busy: run ${time} of ${times}, ${BUSY} cores kept busy\n`)
      const { status } = spawnSync('npm', ['test'], { cwd: root, stdio: 'inherit' })
      if (status !== 0) return status ?? 1
    }
    return 0
  } finally {
    // They would keep this process alive.
    stop()
  }
})

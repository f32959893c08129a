// A port for a process that is started next. Not one of the operating system's own choosing: until that process binds
// it, it could be handed out again, to any connection that another test opens. Nor one that a test file which runs at
// the same time could choose in that while: each of the runner's workers has ports of its own.

import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/** Below the ports that systems choose for themselves, and without those that browsers refuse. */
const [FIRST, END] = [20_000, 32_000]
const WORKERS = 4
const EACH = (END - FIRST) / WORKERS

/** The runner's number for the worker: from 1 up, of no two that run at once; none outside of it. */
const worker = Number(process.env['VITEST_POOL_ID'] ?? 0) % WORKERS

const given = new Set<number>()

export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST + worker * EACH + randomInt(EACH)
    if (given.has(port) || !(await isFree(port))) continue
    given.add(port)
    return port
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer()
  try {
    await once(server.listen(port, '127.0.0.1'), 'listening')
  } catch {
    return false
  }
  await once(server.close(), 'close')
  return true
}

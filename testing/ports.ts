// Finds a port for a process that is about to start. The operating system does not choose it, because it could give
// the same port to another test's connection before the process binds it. Each of the runner's workers has its own
// range, because concurrent test files must not choose the same port.

import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/** A range below the systems' ephemeral ports and without ports that browsers block. */
const [FIRST, END] = [20_000, 32_000]
const WORKERS = 4
const EACH = (END - FIRST) / WORKERS

/** The runner's number for this worker: from 1, unique among concurrent workers; 0 outside the runner. */
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

// A port for a process that is started next. Not one of the operating system's own choosing: until that process binds
// it, it could be handed out again, to any connection that another test opens.

import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/** Below the ports that systems choose for themselves, and without those that browsers refuse. */
const [FIRST, END] = [20_000, 32_000]

const given = new Set<number>()

export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST, END)
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

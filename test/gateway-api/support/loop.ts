// Runs a function repeatedly, as a controller reconciles: a failure is written to a file, and the next run tries again.

import { appendFileSync } from 'node:fs'

const PAUSE_MS = 200

export interface Loop {
  close(): Promise<void>
}

/** @param log file for failures. */
export function startLoop(look: () => Promise<unknown>, log: string): Loop {
  let isClosed = false
  const run = async (): Promise<void> => {
    while (!isClosed) {
      await look().catch((error: unknown) => appendFileSync(log, `${String(error)}\n`))
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
    }
  }
  const running = run()
  return {
    close: async () => {
      isClosed = true
      await running
    },
  }
}

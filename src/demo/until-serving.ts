// A gateway that starts → one that serves the demo's route, keys and discovery document included.

import { setTimeout as delay } from 'node:timers/promises'
import { SERVER_METADATA_PATH } from './demo-parties.js'

const POLL_MS = 50
const PATIENCE_MS = 30_000

/** Rejects when the signal aborts, or after 30 s with a sentence for a person. admin: HOST:PORT or unix:PATH. */
export async function untilServing(
  origin: string,
  admin: string,
  signal: AbortSignal,
): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS
  for (;;) {
    const protectedAnswer = await status(`${origin}/mcp`, signal)
    if (protectedAnswer === 401 && (await status(origin + SERVER_METADATA_PATH, signal)) === 200)
      return
    signal.throwIfAborted()
    if (Date.now() > deadline) throw new Error(await whyNot(admin, protectedAnswer))
    await delay(POLL_MS)
  }
}

/** 0: no answer. */
async function status(url: string, signal: AbortSignal): Promise<number> {
  try {
    const response = await fetch(url, { signal })
    await response.body?.cancel()
    return response.status
  } catch {
    return 0
  }
}

async function whyNot(admin: string, answer: number): Promise<string> {
  const reasons = await fetch(`http://${admin}/readyz`)
    .then((response) => response.text())
    .catch(() => '')
  const what = answer === 0 ? 'does not answer' : `answers ${String(answer)}`
  return `the gateway still ${what} after ${String(PATIENCE_MS / 1000)} s; ${reasons.trim()}`
}

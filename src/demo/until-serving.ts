// Waits until the gateway serves the demo's routes, including keys and the discovery document.

import { setTimeout as delay } from 'node:timers/promises'
import { SERVER_METADATA_PATH } from './demo-parties.js'

const POLL_MS = 50
const PATIENCE_MS = 30_000

/** Status by path once the path is served. */
const SERVED: Readonly<Record<string, number>> = {
  '/mcp': 401,
  [SERVER_METADATA_PATH]: 200,
  '/v1/models': 200,
}

/** Rejects when the signal aborts, or after 30 s with a message for a person. admin: HOST:PORT or unix:PATH. */
export async function untilServing(
  origin: string,
  admin: string,
  signal: AbortSignal,
): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS
  for (;;) {
    const problem = await firstProblem(origin, signal)
    if (problem === undefined) return
    signal.throwIfAborted()
    if (Date.now() > deadline) throw new Error(await sentence(problem, admin))
    await delay(POLL_MS)
  }
}

async function firstProblem(origin: string, signal: AbortSignal): Promise<string | undefined> {
  for (const [path, wanted] of Object.entries(SERVED)) {
    const answer = await status(origin + path, signal)
    if (answer === 0) return 'does not answer'
    if (answer !== wanted) return `answers ${path} with ${String(answer)}`
  }
  return undefined
}

/** Returns the status of the answer; 0: no answer. */
async function status(url: string, signal: AbortSignal): Promise<number> {
  try {
    const response = await fetch(url, { signal })
    await response.body?.cancel()
    return response.status
  } catch {
    return 0
  }
}

async function sentence(problem: string, admin: string): Promise<string> {
  const reasons = await fetch(`http://${admin}/readyz`)
    .then((response) => response.text())
    .catch(() => '')
  return `the gateway still ${problem} after ${String(PATIENCE_MS / 1000)} s; ${reasons.trim()}`
}

// Waits until an Envoy has its first configuration and its listeners are active, as its admin address says.

import { setTimeout as delay } from 'node:timers/promises'
import type { EnvoyChild, EnvoyExit } from './child.js'

const POLL_MS = 25
const ASK_TIMEOUT_MS = 2_000

/** GET /ready is 200 once the listeners of the first configuration have everything they refer to. */
export async function isLive(adminOrigin: string): Promise<boolean> {
  try {
    const response = await fetch(`${adminOrigin}/ready`, {
      signal: AbortSignal.timeout(ASK_TIMEOUT_MS),
    })
    await response.body?.cancel()
    return response.status === 200
  } catch {
    return false
  }
}

/** Rejects when Envoy ends before it is live, or after timeoutMs. adminOrigin: "http://127.0.0.1:19000". */
export async function waitUntilLive(
  child: EnvoyChild,
  adminOrigin: string,
  timeoutMs: number,
): Promise<void> {
  const deadline = Date.now() + timeoutMs
  let exit: EnvoyExit | undefined
  void child.exited.then((value) => (exit = value))
  while (!(await isLive(adminOrigin))) {
    if (exit !== undefined) throw new Error(exitSentence(exit))
    if (Date.now() > deadline) throw new Error(`Envoy was not ready after ${timeoutMs} ms`)
    await delay(POLL_MS)
  }
}

/** At its start Envoy binds its admin address alone. */
const TAKEN = /cannot bind '([^']+)': Address already in use.* initializing config/

/** For a person. */
export function exitSentence({ code, signal, reason }: EnvoyExit): string {
  const taken = TAKEN.exec(reason)?.[1]
  if (taken !== undefined)
    return `Envoy cannot listen on ${taken}, which is in use by another process: stop it, or choose another address with --envoy-admin`
  const how = signal === null ? `with code ${code ?? 'unknown'}` : `by ${signal}`
  return `Envoy ended ${how}${reason === '' ? '' : `: ${reason}`}`
}

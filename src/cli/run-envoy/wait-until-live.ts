// Waits until Envoy's admin address reports the first configuration as loaded and its listeners as active.

import { setTimeout as delay } from 'node:timers/promises'
import { type AdminPlace, askAdmin } from './ask-admin.js'
import type { EnvoyChild, EnvoyExit } from './child.js'

const POLL_MS = 25

/** Whether GET /ready is 200, i.e. the listeners of the first configuration have everything they refer to. */
export const isLive = async (admin: AdminPlace): Promise<boolean> =>
  (await askAdmin(admin, '/ready'))?.status === 200

/** Rejects when Envoy ends before it is live, or after timeoutMs. */
export async function waitUntilLive(
  child: EnvoyChild,
  admin: AdminPlace,
  timeoutMs: number,
): Promise<void> {
  const deadline = Date.now() + timeoutMs
  let exit: EnvoyExit | undefined
  void child.exited.then((value) => (exit = value))
  while (!(await isLive(admin))) {
    if (exit !== undefined) throw new Error(exitSentence(exit))
    if (Date.now() > deadline) throw new Error(`Envoy was not ready after ${timeoutMs} ms`)
    await delay(POLL_MS)
  }
}

/** Envoy's error when its admin address is in use, the only address it binds during initialization. */
const TAKEN = /cannot bind '([^']+)': Address already in use.* initializing config/

/** Describes an exit for a person. */
export function exitSentence({ code, signal, reason }: EnvoyExit): string {
  const taken = TAKEN.exec(reason)?.[1]
  if (taken !== undefined)
    return `Envoy cannot listen on ${taken}, which is in use by another process: stop it, or choose another address with --envoy-admin`
  const how = signal === null ? `with code ${code ?? 'unknown'}` : `by ${signal}`
  return `Envoy ended ${how}${reason === '' ? '' : `: ${reason}`}`
}

// Resolves the host names of backends periodically in the background, and keeps the last good answers. The translation
// decides which of the addresses are allowed (address-rules.ts).

import type { NameState, ResolvedName } from '../ir/resolved-name.js'
import type { Logger } from '../logger.js'
import { createNameTurns, type NameTurnsDeps, type Standing } from './name-turns.js'

/** What the store is created with. */
export interface NameStoreDeps extends NameTurnsDeps {
  readonly logger: Logger
  /** Called when answers or errors have changed. Never called from within want(). */
  onChange(): void
  /** Returns a number from 0 to 1. */
  random(): number
}

/** The addresses of wanted names. */
export interface NameStore {
  /** Sets the wanted names; all others are dropped. */
  want(names: readonly string[]): void
  /** The current state; replaced as a whole at every change. */
  state(): NameState
  /** Stops all timers; pending answers are ignored. */
  close(): void
}

/** About the cache time of a cluster's name server; the system's resolver does not return the TTL of an answer. */
const REFRESH_MS = 10_000
const FIRST_RETRY_MS = 1_000
const MAX_RETRY_MS = 60_000

interface Kept {
  failures: number
  standing: Standing
  isWanted: boolean
  stopTimer: () => void
}

/** Creates a store without names. */
export function createNameStore(deps: NameStoreDeps): NameStore {
  const kept = new Map<string, Kept>()
  const turns = createNameTurns(deps)
  let state: NameState = new Map()

  const learn = (name: string, after: ResolvedName): void => {
    const before = state.get(name)
    if (before !== undefined && isSame(before, after)) return
    state = new Map(state).set(name, after)
    logChange(deps.logger, name, before, after)
    deps.onChange()
  }

  const resolveOnce = async (name: string, own: Kept): Promise<void> => {
    const answer = await turns.ask(name, own.standing, () => own.isWanted)
    if (answer === undefined || !own.isWanted) return
    const { found, standing } = answer
    own.standing = standing
    own.failures = 'error' in found ? own.failures + 1 : 0
    const delay = 'error' in found ? retryDelay(own.failures) : REFRESH_MS
    own.stopTimer = deps.startTimer(
      () => void resolveOnce(name, own),
      Math.round(delay * (1 + deps.random() / 10)),
    )
    const { ips } = state.get(name) ?? {}
    learn(name, 'error' in found && ips !== undefined ? { ...found, ips } : found)
  }

  const forget = (name: string, own: Kept): void => {
    own.isWanted = false
    own.stopTimer()
    kept.delete(name)
  }

  return {
    want(names) {
      const wanted = new Set(names)
      for (const [name, own] of kept) if (!wanted.has(name)) forget(name, own)
      if ([...state.keys()].some((name) => !wanted.has(name)))
        state = new Map([...state].filter(([name]) => wanted.has(name)))
      for (const name of wanted) {
        if (kept.has(name)) continue
        const own: Kept = {
          failures: 0,
          standing: 'new',
          isWanted: true,
          stopTimer: () => undefined,
        }
        kept.set(name, own)
        void resolveOnce(name, own)
      }
    },
    state: () => state,
    close() {
      for (const [name, own] of kept) forget(name, own)
      turns.close()
    },
  }
}

/** failures: consecutive failures, from 1. */
const retryDelay = (failures: number): number =>
  Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(failures - 1, 10))

const isSame = (a: ResolvedName, b: ResolvedName): boolean =>
  a.error === b.error && a.ips?.join() === b.ips?.join()

/** Logs the first failure, a change of the error and the recovery, but not each retry. */
function logChange(
  logger: Logger,
  name: string,
  before: ResolvedName | undefined,
  after: ResolvedName,
): void {
  if (before?.error === after.error) return
  if (after.error === undefined) logger.info({ name }, 'a host name resolves again')
  else
    logger.warn(
      { name, error: after.error, lastGood: after.ips !== undefined },
      'a host name of a backend cannot be resolved, retrying',
    )
}

// The host names that routes lead to → their addresses: looked up in the background, again and again, the last good
// answers kept. What the answers are worth (address-rules.ts) is for the translation to say.

import type { LookupAddress } from 'node:dns'
import type { NameState, ResolvedName } from '../ir/resolved-name.js'
import type { Logger } from '../logger.js'
import { createLimit } from './limit.js'
import { codeOf } from './remote-failure.js'
import type { Lookup } from './resolve.js'

export interface NameStoreDeps {
  readonly lookup: Lookup
  readonly logger: Logger
  /** Answers or errors have changed. Never called from within want(). */
  onChange(): void
  /** 0 to 1. */
  random(): number
  /** Calls back once after so many milliseconds, unless the function it returns is called before. */
  startTimer(callback: () => void, ms: number): () => void
}

export interface NameStore {
  /** All names that are wanted from now on; the others are forgotten. */
  want(names: readonly string[]): void
  /** Replaced whole at every change. */
  state(): NameState
  /** No timer is left, and no answer counts any more. */
  close(): void
}

/** As often as a cluster's own name server forgets, about; an answer tells no lifetime through the system's resolver. */
const REFRESH_MS = 10_000
const FIRST_RETRY_MS = 1_000
const MAX_RETRY_MS = 60_000
/** A resolver that says nothing for so long has failed, and its place in the line is free. */
const PATIENCE_MS = 5_000
/** The system's resolver answers two questions at a time in Node, our own calls' among them. */
const MAX_LOOKUPS = 2

interface Kept {
  failures: number
  isWanted: boolean
  stopTimer: () => void
}

export function createNameStore(deps: NameStoreDeps): NameStore {
  const kept = new Map<string, Kept>()
  const limit = createLimit(MAX_LOOKUPS)
  let state: NameState = new Map()

  const learn = (name: string, after: ResolvedName): void => {
    const before = state.get(name)
    if (before !== undefined && isSame(before, after)) return
    state = new Map(state).set(name, after)
    logChange(deps.logger, name, before, after)
    deps.onChange()
  }

  const resolveOnce = async (name: string, own: Kept): Promise<void> => {
    const answer = await limit(async () =>
      own.isWanted ? ask(name, deps) : { error: 'it is not wanted any more' },
    )
    if (!own.isWanted) return
    own.failures = 'error' in answer ? own.failures + 1 : 0
    const delay = 'error' in answer ? retryDelay(own.failures) : REFRESH_MS
    own.stopTimer = deps.startTimer(
      () => void resolveOnce(name, own),
      Math.round(delay * (1 + deps.random() / 10)),
    )
    const { ips } = state.get(name) ?? {}
    learn(name, 'error' in answer && ips !== undefined ? { ...answer, ips } : answer)
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
        const own: Kept = { failures: 0, isWanted: true, stopTimer: () => undefined }
        kept.set(name, own)
        void resolveOnce(name, own)
      }
    },
    state: () => state,
    close() {
      for (const [name, own] of kept) forget(name, own)
    },
  }
}

type Answer = { readonly ips: readonly string[] } | { readonly error: string }

/** Never rejects. */
const ask = (name: string, deps: NameStoreDeps): Promise<Answer> =>
  new Promise((resolve) => {
    const stopTimer = deps.startTimer(
      () => resolve({ error: failure(name, 'no answer') }),
      PATIENCE_MS,
    )
    const settle = (answer: Answer): void => {
      stopTimer()
      resolve(answer)
    }
    deps.lookup(name).then(
      (found) =>
        settle(found.length > 0 ? { ips: ipsOf(found) } : { error: failure(name, 'ENODATA') }),
      (error: unknown) => settle({ error: failure(name, codeOf(error)) }),
    )
  })

const ipsOf = (found: readonly LookupAddress[]): readonly string[] =>
  [...new Set(found.map(({ address }) => address))].sort()

const failure = (name: string, code: string): string =>
  `the name ${name} cannot be resolved (${code})`

/** failures: in a row, from 1. */
const retryDelay = (failures: number): number =>
  Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(failures - 1, 10))

const isSame = (a: ResolvedName, b: ResolvedName): boolean =>
  a.error === b.error && a.ips?.join() === b.ips?.join()

/** On the first failure, on a change of the error and on recovery; not on each retry. */
function logChange(
  logger: Logger,
  name: string,
  before: ResolvedName | undefined,
  after: ResolvedName,
): void {
  if (before?.error === after.error) return
  if (after.error === undefined) logger.info({ name }, 'a host name is resolved again')
  else
    logger.warn(
      { name, error: after.error, lastGood: after.ips !== undefined },
      'a host name of a backend cannot be resolved, retrying',
    )
}

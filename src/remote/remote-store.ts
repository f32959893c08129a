// The documents that the translation wants → what is known of them: fetched in the background, the last good ones kept.

import type { RemoteDocument, RemoteState, WantedDocument } from '../ir/remote-target.js'
import type { Logger } from '../logger.js'
import { createDocumentKeeper, type DocumentKeeper } from './document-keeper.js'
import { fetchDocument } from './fetch-document.js'
import type { CallRemote } from './http-call.js'
import { createLimit } from './limit.js'

export interface RemoteStoreDeps {
  /** Milliseconds since the epoch. */
  now(): number
  readonly logger: Logger
  readonly metrics: RemoteMetrics
  /** The state's documents or errors have changed in content. Never called from within want(). */
  onChange(state: RemoteState): void
  /** --jwks-max-stale; absent: the last good document is used for ever. */
  readonly maxStaleMs?: number | undefined
  /** Default 10. */
  readonly maxFetches?: number
  readonly callRemote: CallRemote
  /** 0 to 1. */
  readonly random?: () => number
  /** Calls back once after so many milliseconds, unless the function it returns is called before. */
  readonly startTimer?: (callback: () => void, ms: number) => () => void
}

export interface RemoteMetrics {
  /** gatehouse_key_set_fetches_total{result}. */
  keySetFetch(result: 'success' | 'failure'): void
}

export interface RemoteStore {
  /** All documents that are wanted from now on; the others are forgotten. */
  want(documents: readonly WantedDocument[]): void
  /** An extra fetch of a key set, because of an unknown kid: at most one in 10 s; resolves when it is done. Never rejects. */
  refetch(id: string): Promise<void>
  /** Replaced whole at every fetch. */
  state(): RemoteState
  /** No timer and no socket is left when it resolves. */
  close(): Promise<void>
}

const MAX_FETCHES = 10
/** Requests wait for these: in one line with the others, providers that hang would let them come too late. */
const MAX_EXTRA_FETCHES = 100

export const createRemoteStore = (deps: RemoteStoreDeps): RemoteStore => {
  const keepers = new Map<string, DocumentKeeper>()
  const limit = createLimit(deps.maxFetches ?? MAX_FETCHES)
  const extraLimit = createLimit(MAX_EXTRA_FETCHES)
  const closing = new Set<Promise<void>>()
  let state: RemoteState = new Map()

  const changed = (): void => {
    try {
      deps.onChange(state)
    } catch (error) {
      // The refresh must go on whatever a listener does with it.
      deps.logger.error({ err: error }, 'a change of remote documents could not be taken over')
    }
  }

  const learn =
    (wanted: WantedDocument) =>
    (after: RemoteDocument, before: RemoteDocument): void => {
      state = new Map(state).set(wanted.id, after)
      logChange(deps.logger, wanted, after, before)
      if (after.document !== before.document || after.error !== before.error) changed()
    }

  const keep = (wanted: WantedDocument): DocumentKeeper =>
    createDocumentKeeper(wanted, {
      now: () => deps.now(),
      random: () => (deps.random ?? Math.random)(),
      startTimer: deps.startTimer ?? startTimer,
      maxStaleMs: deps.maxStaleMs,
      fetch: (document, signal, isExtra) =>
        (isExtra ? extraLimit : limit)(() => fetchDocument(document, deps.callRemote, signal)),
      onFetched: (after, before) => {
        if (wanted.kind === 'KeySet')
          deps.metrics.keySetFetch(after.error === undefined ? 'success' : 'failure')
        learn(wanted)(after, before)
      },
      onExpired: learn(wanted),
    })

  const forget = (id: string, keeper: DocumentKeeper): void => {
    keepers.delete(id)
    const ended = keeper.close().finally(() => closing.delete(ended))
    closing.add(ended)
  }

  return {
    want: (documents) => {
      const wanted = new Map(documents.map((document) => [document.id, document]))
      for (const [id, keeper] of keepers) if (!wanted.has(id)) forget(id, keeper)
      state = new Map([...state].filter(([id]) => wanted.has(id)))
      for (const [id, document] of wanted) {
        const keeper = keepers.get(id)
        if (keeper === undefined) keepers.set(id, keep(document))
        else keeper.update(document)
      }
    },
    refetch: async (id) => keepers.get(id)?.refetch(),
    state: () => state,
    close: async () => {
      for (const [id, keeper] of keepers) forget(id, keeper)
      await Promise.all(closing)
    },
  }
}

/** On the first failure, on a change of the error and on recovery; not on each retry. */
const logChange = (
  logger: Logger,
  wanted: WantedDocument,
  after: RemoteDocument,
  before: RemoteDocument,
): void => {
  if (after.error === before.error) return
  const fields = { kind: wanted.kind, url: wanted.targets[0]?.url }
  if (after.error === undefined) logger.info(fields, 'remote document is available again')
  else
    logger.warn(
      { ...fields, error: after.error, lastGood: after.document !== undefined },
      'remote document is not available, retrying',
    )
}

const startTimer = (callback: () => void, ms: number): (() => void) => {
  const timer = setTimeout(callback, ms)
  return () => clearTimeout(timer)
}

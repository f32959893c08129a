// Fetches the documents that the translation wants in the background, and keeps the last good ones.

import type { RemoteDocument, RemoteState, WantedDocument } from '../../model/remote-target.js'
import type { Logger } from '../logger.js'
import { createDocumentKeeper, type DocumentKeeper, type Refetched } from './document-keeper.js'
import { fetchDocument } from './fetch-document.js'
import { fetchInTurn, type FetchTurns } from './fetch-in-turn.js'
import type { CallRemote } from './http-call.js'
import { createLimit } from './limit.js'

/** What the store is created with. */
export interface RemoteStoreDeps {
  /** Milliseconds since the epoch. */
  now(): number
  readonly logger: Logger
  readonly metrics: RemoteMetrics
  /** Called when the content of the state's documents or errors has changed. Never called from within want(). */
  onChange(state: RemoteState): void
  /** Called when a document has been fetched, even if unchanged; answers: how many fetches have succeeded. */
  onAnswer?(id: string, answers: number): void
  /** --jwks-max-stale; absent: the last good document is used without limit. */
  readonly maxStaleMs?: number | undefined
  /** Maximum concurrent fetches; default 10. */
  readonly maxFetches?: number
  readonly callRemote: CallRemote
  /** Returns a number from 0 to 1. */
  readonly random?: () => number
  /** Calls back once after ms milliseconds, unless the returned function is called before. */
  readonly startTimer?: (callback: () => void, ms: number) => () => void
}

/** The metrics that the store updates. */
export interface RemoteMetrics {
  /** gatehouse_key_set_fetches_total{result}. */
  keySetFetch(result: 'success' | 'failure'): void
}

/** The wanted documents. */
export interface RemoteStore {
  /** Sets the wanted documents; all others are dropped. */
  want(documents: readonly WantedDocument[]): void
  /** Awaits a fetch for an unknown kid: the one under way or the next, about one per second. Never rejects. */
  refetch(id: string): Promise<Refetched>
  /** Returns how many fetches of the document have succeeded. */
  answers(id: string): number
  /** The current state; replaced as a whole at every fetch. */
  state(): RemoteState
  /** Stops everything. Resolves when no timer and no socket is left. */
  close(): Promise<void>
}

const MAX_FETCHES = 10
/**
 * Limit of the fetches that requests wait for and that have just begun. It is separate, because hanging providers would
 * delay a shared queue.
 */
const MAX_EXTRA_FETCHES = 100

/** Creates a store without documents. */
export const createRemoteStore = (deps: RemoteStoreDeps): RemoteStore => new Store(deps)

class Store implements RemoteStore {
  readonly #keepers = new Map<string, DocumentKeeper>()
  readonly #turns: FetchTurns
  readonly #closing = new Set<Promise<void>>()
  #known: RemoteState = new Map()

  constructor(private readonly deps: RemoteStoreDeps) {
    this.#turns = {
      usual: createLimit(deps.maxFetches ?? MAX_FETCHES),
      urgent: createLimit(MAX_EXTRA_FETCHES),
      startTimer: deps.startTimer ?? startTimer,
    }
  }

  want(documents: readonly WantedDocument[]): void {
    const wanted = new Map(documents.map((document) => [document.id, document]))
    for (const [id, keeper] of this.#keepers) if (!wanted.has(id)) this.#forget(id, keeper)
    this.#known = new Map([...this.#known].filter(([id]) => wanted.has(id)))
    for (const [id, document] of wanted) {
      const keeper = this.#keepers.get(id)
      if (keeper === undefined) this.#keepers.set(id, this.#keep(document))
      else keeper.update(document)
    }
  }

  async refetch(id: string): Promise<Refetched> {
    return (await this.#keepers.get(id)?.refetch()) ?? { isAnswered: false, isOlder: false }
  }

  answers(id: string): number {
    return this.#keepers.get(id)?.answers ?? 0
  }

  state(): RemoteState {
    return this.#known
  }

  async close(): Promise<void> {
    for (const [id, keeper] of this.#keepers) this.#forget(id, keeper)
    await Promise.all(this.#closing)
  }

  #keep(wanted: WantedDocument): DocumentKeeper {
    const { deps } = this
    return createDocumentKeeper(wanted, {
      now: () => deps.now(),
      random: () => (deps.random ?? Math.random)(),
      startTimer: deps.startTimer ?? startTimer,
      maxStaleMs: deps.maxStaleMs,
      fetch: (document, signal, isExtra) =>
        fetchInTurn(() => fetchDocument(document, deps.callRemote, signal), this.#turns, isExtra),
      onFetched: (after, before) => {
        if (wanted.kind === 'KeySet')
          deps.metrics.keySetFetch(after.error === undefined ? 'success' : 'failure')
        this.#learn(wanted, after, before)
        if (after.error === undefined) deps.onAnswer?.(wanted.id, this.answers(wanted.id))
      },
      onExpired: (after, before) => this.#learn(wanted, after, before),
    })
  }

  #forget(id: string, keeper: DocumentKeeper): void {
    this.#keepers.delete(id)
    const ended = keeper.close().finally(() => this.#closing.delete(ended))
    this.#closing.add(ended)
  }

  #learn(wanted: WantedDocument, after: RemoteDocument, before: RemoteDocument): void {
    this.#known = new Map(this.#known).set(wanted.id, after)
    logChange(this.deps.logger, wanted, after, before)
    if (
      after.document !== before.document ||
      after.error !== before.error ||
      after.isOpenToPages !== before.isOpenToPages
    )
      this.#changed()
  }

  #changed(): void {
    try {
      this.deps.onChange(this.#known)
    } catch (error) {
      // The refresh must go on even if the listener throws.
      this.deps.logger.error({ err: error }, 'a change of remote documents could not be applied')
    }
  }
}

/** Logs the first failure, a change of the error and the recovery, but not each retry. */
function logChange(
  logger: Logger,
  wanted: WantedDocument,
  after: RemoteDocument,
  before: RemoteDocument,
): void {
  if (after.error === before.error) return
  const fields = { kind: wanted.kind, url: wanted.targets[0]?.url }
  if (after.error === undefined) logger.info(fields, 'remote document is available again')
  else
    logger.warn(
      { ...fields, error: after.error, lastGood: after.document !== undefined },
      'remote document is not available, retrying',
    )
}

function startTimer(callback: () => void, ms: number): () => void {
  const timer = setTimeout(callback, ms)
  return () => clearTimeout(timer)
}

// Sends the changes of the status page to browsers as server-sent events. Visitors are bounded in number, and each in
// what waits for it: while a visitor has not taken the last event, nothing is made for it.

import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { errorKind } from '../../kit/errors.js'
import type { Logger } from '../../kit/logger.js'
import { runInTurns } from '../../kit/turns.js'
import { type PageAnswer, textAnswer } from './answer.js'
import { addressOf, type PageQuery } from './page/page-query.js'
import { pageSections, type PageState, SentSections } from './page/page-view.js'
import type { Section } from './page/section.js'

/** What live updates are created with. */
export interface LiveUpdatesOptions {
  readonly state: () => Promise<PageState>
  readonly logger: Logger
  /** Shortest time between two events of a visitor, in milliseconds. */
  readonly everyMs?: number
}

/** Maximum number of visitors at once. */
export const MAX_VISITORS = 16

const EVERY_MS = 1_000
/** How many times longer than its share of the work a visitor waits; matters with thousands of resources. */
const REST = 10
const MAX_PAUSE_MS = 30_000
/** After this long without an event, a comment shows that the connection lives. */
const SILENCE_MS = 15_000
/** How long a visitor may take for one event. */
const PATIENCE_MS = 30_000
/** Makes browsers connect again after a second. */
const RECONNECT = 'retry: 1000\n'
/** After this long a visitor must connect again, with the token that then holds. */
const LIFE_MS = 10 * 60_000

const FULL: PageAnswer = {
  ...textAnswer(503, `${MAX_VISITORS} pages are already kept up to date`),
  headers: { 'retry-after': '10' },
}

/** Sends the changes of the status page to its visitors. */
export class LiveUpdates {
  readonly #options: LiveUpdatesOptions
  readonly #everyMs: number
  #visitors = 0
  #reading: { readonly at: number; readonly state: Promise<Versioned> } | undefined
  #last: Versioned | undefined
  /** Views of the latest version by their addresses. */
  #made = { version: 0, views: new Map<string, Promise<readonly Section[]>>() }

  constructor(options: LiveUpdatesOptions) {
    this.#options = options
    this.#everyMs = options.everyMs ?? EVERY_MS
  }

  /** Returns the stream of a view, or 503. */
  answer(query: PageQuery): PageAnswer {
    if (this.#visitors >= MAX_VISITORS) return FULL
    return {
      status: 200,
      type: 'text/event-stream',
      body: (response) => void this.#serve(response, query),
    }
  }

  async #serve(response: ServerResponse, query: PageQuery): Promise<void> {
    if (response.destroyed) return
    this.#visitors += 1
    const left = new AbortController()
    const closed = once(response, 'close').then(() => left.abort())
    try {
      // A visitor that leaves makes room, whatever its next event waits for.
      await Promise.race([this.#send(response, query, left.signal), closed])
    } catch (error) {
      if (!left.signal.aborted && !response.destroyed)
        this.#options.logger.error({ error: errorKind(error) }, 'a live status page failed')
    } finally {
      left.abort()
      this.#visitors -= 1
      response.end()
    }
  }

  async #send(response: ServerResponse, query: PageQuery, left: AbortSignal): Promise<void> {
    const sent = new SentSections()
    let head = RECONNECT
    const until = performance.now() + LIFE_MS
    let version = 0
    let lastAt = performance.now()
    while (!left.aborted && performance.now() < until) {
      const now = await this.#state()
      const begun = performance.now()
      const changes = now.version === version ? [] : sent.update(await this.#sections(now, query))
      const spent = performance.now() - begun
      version = now.version
      const isSilent = performance.now() - lastAt > SILENCE_MS
      if (changes.length > 0 || isSilent) {
        await write(
          response,
          changes.length > 0 ? `${head}data: ${JSON.stringify(changes)}\n\n` : ': nothing new\n\n',
          left,
        )
        head = ''
        lastAt = performance.now()
      }
      await delay(this.#pause(spent), undefined, { signal: left })
    }
  }

  /** Visitors of the same view share its sections. */
  #sections(now: Versioned, query: PageQuery): Promise<readonly Section[]> {
    const isFull = this.#made.views.size >= 2 * MAX_VISITORS
    if (isFull || this.#made.version !== now.version)
      this.#made = { version: now.version, views: new Map() }
    const { views } = this.#made
    const key = addressOf(query)
    const made = views.get(key) ?? runInTurns(pageSections(now.state, query))
    views.set(key, made)
    return made
  }

  /** Returns how long a visitor waits, so that all of them together take little time from the checks. */
  #pause(spentMs: number): number {
    const fair = this.#visitors * spentMs * REST
    return Math.max(this.#everyMs, Math.min(fair, MAX_PAUSE_MS))
  }

  /** Reads the state at most once in an interval for all visitors. */
  #state(): Promise<Versioned> {
    const at = performance.now()
    if (this.#reading === undefined || at - this.#reading.at >= this.#everyMs)
      this.#reading = { at, state: this.#read() }
    return this.#reading.state
  }

  async #read(): Promise<Versioned> {
    const state = await this.#options.state()
    const stamp = stampOf(state)
    const last = this.#last
    const isSame =
      last?.stamp === stamp &&
      last.state.report.resources === state.report.resources &&
      last.state.routes === state.routes
    if (!isSame) this.#last = { state, stamp, version: (last?.version ?? 0) + 1 }
    return this.#last ?? { state, stamp, version: 1 }
  }
}

interface Versioned {
  readonly state: PageState
  readonly stamp: string
  /** From 1; larger whenever something that the page shows is different. */
  readonly version: number
}

/** Everything but the resources and routes, whose objects are the same while they do not change. */
const stampOf = ({ report, decisions }: PageState): string =>
  JSON.stringify([
    report.ready,
    report.reasons,
    report.revision,
    report.failure,
    report.envoys,
    report.remote.map(({ url, fetchedAt, error }) => [url, fetchedAt, error]),
    decisions?.length,
    decisions?.[0]?.id,
  ])

/** Waits until the visitor has taken the text, and gives up on one that does not. */
async function write(response: ServerResponse, text: string, left: AbortSignal): Promise<void> {
  if (response.write(text)) return
  const signal = AbortSignal.any([left, AbortSignal.timeout(PATIENCE_MS)])
  try {
    await once(response, 'drain', { signal })
  } catch (error) {
    response.destroy()
    throw error
  }
}

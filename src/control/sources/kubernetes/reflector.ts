// Mirrors one kind (of one namespace, or one object) of the API server: lists, then watches with bookmarks, lists again
// after 410 Gone, and retries forever with growing pauses. Keeps what it has while the API server is away.

import type { KubernetesObject, ListWatch, Watch } from '@kubernetes/client-node'
import { isJsonObject, type Json, type JsonObject } from '../../../model/json.js'
import type { Kind } from '../../schema/kinds/kinds.js'
import { type KubernetesClient, KubernetesError, pauseAskedFor } from './client.js'
import { createInformer } from './client-library.js'
import { findKindPath, type KindName, type KindPath, listPath, UnknownKindError } from './kinds.js'
import { listAll, trim } from './list.js'

/** The objects to mirror. */
export interface ReflectorScope<Named extends KindName = Kind> {
  readonly kind: Named
  /** Absent for all namespaces or a cluster-scoped kind. */
  readonly namespace?: string
  /** Restricts the scope to the object with this name. */
  readonly name?: string
  /** Restricts the scope to the objects with this LABEL=VALUE. */
  readonly labelSelector?: string
  /** Treats a forbidden object as absent. */
  readonly isOptional?: true
}

/** Called as objects change. */
export interface ReflectorEvents {
  /** Called when an object was added or has changed. */
  put(object: JsonObject, path: KindPath): void
  remove(object: JsonObject): void
  /** Called when the result of synced() or problem() has changed. */
  changed(): void
}

/** A running mirror of one kind. */
export interface Reflector {
  /** Whether it has been listed once; also true if reading an optional object is forbidden. */
  synced(): boolean
  /** Returns why it cannot be read now; undefined if it can. */
  problem(): string | undefined
  close(): void
}

/** Pauses in milliseconds. */
const FIRST_PAUSE = 200
const LONGEST_PAUSE = 15_000

/** Starts to mirror. */
export function startReflector(
  client: KubernetesClient,
  scope: ReflectorScope<KindName>,
  events: ReflectorEvents,
): Reflector {
  const reflector = new RunningReflector(client, scope, events)
  void reflector.run()
  return reflector
}

class RunningReflector implements Reflector {
  readonly #client: KubernetesClient
  readonly #scope: ReflectorScope<KindName>
  readonly #events: ReflectorEvents
  #isSynced = false
  #problem: string | undefined
  #pause = FIRST_PAUSE
  #timer: NodeJS.Timeout | undefined
  #closed = false
  #informer: ListWatch<KubernetesObject> | undefined
  #path: KindPath | undefined

  constructor(client: KubernetesClient, scope: ReflectorScope<KindName>, events: ReflectorEvents) {
    this.#client = client
    this.#scope = scope
    this.#events = events
  }

  synced(): boolean {
    return this.#isSynced
  }

  problem(): string | undefined {
    return this.#problem
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
    void this.#informer?.stop()
  }

  async run(): Promise<void> {
    try {
      // Looked up on each try: the CRD may have been installed or may serve another version now.
      this.#path = await findKindPath(this.#client, this.#scope.kind)
      if (this.#closed) return
      this.#informer ??= this.#createInformer()
      await this.#informer.start()
      if (this.#closed) await this.#informer.stop()
    } catch (error) {
      this.#retry(error)
    }
  }

  #createInformer(): ListWatch<KubernetesObject> {
    const path = (): KindPath => {
      if (this.#path === undefined) throw new Error('the path of the kind is not known yet')
      return this.#path
    }
    // A list requested before close() may arrive after it.
    return informerOf(this.#client, this.#scope, path, {
      put: (object, from) => {
        if (!this.#closed) this.#events.put(object, from)
      },
      remove: (object) => {
        if (!this.#closed) this.#events.remove(object)
      },
      changed: () => this.#events.changed(),
      reached: () => {
        this.#pause = FIRST_PAUSE
        if (!this.#closed) this.#say(true, undefined)
      },
      silent: () => {
        if (!this.#closed) this.#say(this.#isSynced, 'its watch has been silent for too long')
      },
      failed: (error) => this.#retry(error),
    })
  }

  #say(synced: boolean, problem: string | undefined): void {
    const isNews = synced !== this.#isSynced || problem !== this.#problem
    this.#isSynced = synced
    this.#problem = problem
    if (isNews) this.#events.changed()
  }

  /** Does what a list without objects would. A kind that comes back is listed anew: its old versions mean nothing then. */
  #forgetAll(): void {
    const informer = this.#informer
    this.#informer = undefined
    void informer?.stop()
    for (const object of informer?.list() ?? []) this.#events.remove(jsonOf(object))
    this.#say(true, undefined)
  }

  #retry(error: unknown): void {
    if (this.#closed || this.#timer !== undefined) return
    const isAnswered = this.#scope.isOptional === true && isForbidden(error)
    const isAbsent = this.#scope.kind.isOptional === true && error instanceof UnknownKindError
    if (isAbsent) this.#forgetAll()
    else this.#say(this.#isSynced || isAnswered, sentenceOf(error))
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined
        void this.run()
      },
      Math.max(this.#pause, pauseAskedFor(error)),
    )
    this.#pause = Math.min(this.#pause * 2, LONGEST_PAUSE)
  }
}

interface InformerEvents extends ReflectorEvents, WatchNews {
  failed(error: unknown): void
}

/**
 * Creates the informer. path returns the current location of the kind. Objects listed at a previous one stay known, so
 * their removal is noticed.
 */
function informerOf(
  client: KubernetesClient,
  { namespace, name, labelSelector }: ReflectorScope<KindName>,
  path: () => KindPath,
  events: InformerEvents,
): ListWatch<KubernetesObject> {
  const where = () => listPath(path(), namespace)
  const fieldSelector = name === undefined ? undefined : `metadata.name=${name}`
  const { watch } = patientWatch(client.watch, events)
  const watchThere: Pick<Watch, 'watch'> = {
    watch: (_, ...more) => watch(where(), ...more),
  }
  const informer = createInformer({
    path: where(),
    watch: watchThere,
    list: () => listAll(client, where(), { fieldSelector, labelSelector }),
    labelSelector,
    fieldSelector,
  })
  const put = (object: KubernetesObject) => events.put(jsonOf(object), path())
  informer.on('add', put)
  informer.on('update', put)
  informer.on('delete', (object) => events.remove(jsonOf(object)))
  informer.on('error', (error) => events.failed(error))
  return informer
}

/** Returns the object as JSON, which it is as received. */
const jsonOf = (object: KubernetesObject): JsonObject => object as JsonObject

/**
 * Whether access is forbidden, which counts as an answer: references to the object report that it does not exist.
 * Waiting for it would let anyone who writes a Gateway keep every replica from starting.
 */
const isForbidden = (error: unknown): boolean =>
  (error instanceof KubernetesError ? error.status : statusOfWatch(error)) === 403

const statusOfWatch = (error: unknown): number | undefined =>
  (error as { readonly statusCode?: number }).statusCode

function sentenceOf(error: unknown): string {
  if (error instanceof KubernetesError) return error.message
  const status = statusOfWatch(error)
  if (status !== undefined) return `it cannot be watched: HTTP ${status}`
  const { code, message } = error as { readonly code?: string; readonly message?: string }
  return code ?? message ?? 'the watch broke'
}

// Wraps a watch: requests bookmarks, limits its duration to some seconds (which detects dead connections), and delays
// the next watch when the API server closes this one immediately.

type WatchCall = Watch['watch']

/**
 * Duration of a watch, in seconds. A half-open connection is as silent as an idle one; only a missing end reveals it,
 * within 9 s. The API server sends a bookmark 2 s before the end, where the next watch continues. The spread keeps
 * replicas from reconnecting all at once.
 */
const LASTS = { atLeast: 5, spread: 2 }
const GRACE_SECONDS = 2
/** Shortest time between the starts of two watches, in milliseconds. */
const SHORTEST_WATCH = 1_000
/**
 * How long the response headers may take, in milliseconds: the API server sends them before the first event. A connection that was
 * kept may have died since; an API server that is slow is given twice as long each time.
 */
const ANSWER_WITHIN = { first: 8_000, most: 30_000 }

/**
 * The end of a watch, in the words in which the library takes it for one. After any other end without an event it pauses, each time
 * twice as long, up to half a minute in which no change is seen.
 */
const OVER = new DOMException('the watch is over', 'TimeoutError')

/** What a watch tells beside its events. */
interface WatchNews {
  /** Called once a watch runs, which is after all listed objects were reported. */
  reached(): void
  /** Called when nothing has been heard of a watch for so long that changes may have been missed. */
  silent(): void
}

/** Wraps inner. */
export function patientWatch(inner: Watch, news: WatchNews): Pick<Watch, 'watch'> {
  let patience = ANSWER_WITHIN.first
  return {
    watch: async (path, query, onEvent, onDone) => {
      const timeoutSeconds = Math.round(LASTS.atLeast + Math.random() * LASTS.spread)
      const end = endOnce(onDone)
      const parameters = { ...query, allowWatchBookmarks: true, timeoutSeconds }
      try {
        const asked = inner.watch(path, parameters, trimmed(onEvent), end.done)
        const controller = await inTime(asked, patience)
        patience = ANSWER_WITHIN.first
        if (end.hasCome()) return controller
        news.reached()
        const giveUp = (): void => {
          news.silent()
          controller.abort()
        }
        end.expect(giveUp, (timeoutSeconds + GRACE_SECONDS) * 1000)
        return controller
      } catch (error) {
        const isLate = error === LATE
        if (isLate) {
          patience = Math.min(patience * 2, ANSWER_WITHIN.most)
          news.silent()
        }
        // The caller may not await this promise: the end of the previous watch may have made the call.
        end.done(isLate ? null : error)
        return new AbortController()
      }
    },
  }
}

/** Passes on the first end of a watch: as OVER, and no sooner than the next watch may begin, if nothing has failed. */
function endOnce(onDone: (error: unknown) => void) {
  const began = performance.now()
  let deadline: NodeJS.Timeout | undefined
  let hasEnded = false
  return {
    hasCome: () => hasEnded,
    /** Calls giveUp unless the end comes within these milliseconds. */
    expect: (giveUp: () => void, within: number): void => {
      deadline = setTimeout(giveUp, within)
    },
    done: (error: unknown): void => {
      if (hasEnded) return
      hasEnded = true
      clearTimeout(deadline)
      const isOurs = error instanceof Error && error.name === 'AbortError'
      const early = SHORTEST_WATCH - (performance.now() - began)
      if (error !== null && !isOurs) onDone(error)
      else if (early <= 0) onDone(OVER)
      else setTimeout(() => onDone(OVER), early).unref()
    },
  }
}

/** What inTime throws when there is no answer in time. */
const LATE = new Error('no answer in time')

/** Limits the wait for a response: an unanswered request would otherwise last as long as its connection. */
async function inTime(asked: Promise<AbortController>, within: number): Promise<AbortController> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(LATE), within)
  })
  try {
    return await Promise.race([asked, late])
  } catch (error) {
    void asked.then(
      (controller) => controller.abort(),
      () => undefined,
    )
    throw error
  } finally {
    clearTimeout(timer)
  }
}

const trimmed =
  (onEvent: Parameters<WatchCall>[2]): Parameters<WatchCall>[2] =>
  (phase, object: Json, event) =>
    onEvent(phase, isJsonObject(object) ? trim(object) : object, event)

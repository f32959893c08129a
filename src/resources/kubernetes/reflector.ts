// One kind (of one namespace, or one object) of the API server, kept in step: listed, then watched with bookmarks, listed
// anew after 410 Gone, tried again for ever with growing pauses. What was learnt stays while the API server is away.

import { type KubernetesObject, ListWatch, type Watch } from '@kubernetes/client-node'
import type { JsonObject } from '../../ir/json.js'
import type { Kind } from '../kinds/kinds.js'
import { type KubernetesClient, KubernetesError } from './client.js'
import { findKindPath, type KindPath, listPath } from './kinds.js'
import { listAll } from './list.js'
import { patientWatch } from './watch.js'

export interface ReflectorScope {
  readonly kind: Kind
  /** Absent: all, or the kind has none. */
  readonly namespace?: string
  /** This object alone. */
  readonly name?: string
  /** What may not be read counts as what is not there. */
  readonly isOptional?: true
}

export interface ReflectorEvents {
  /** An object is there, or has changed. */
  put(object: JsonObject, path: KindPath): void
  remove(object: JsonObject): void
  /** synced() or problem() has changed. */
  changed(): void
}

export interface Reflector {
  /** It has been listed once; of what is optional also: it may not be read. */
  synced(): boolean
  /** Why it cannot be read now; absent: it can. */
  problem(): string | undefined
  close(): void
}

/** Milliseconds. */
const FIRST_PAUSE = 200
const LONGEST_PAUSE = 15_000

export function startReflector(
  client: KubernetesClient,
  scope: ReflectorScope,
  events: ReflectorEvents,
): Reflector {
  const reflector = new RunningReflector(client, scope, events)
  void reflector.run()
  return reflector
}

class RunningReflector implements Reflector {
  readonly #client: KubernetesClient
  readonly #scope: ReflectorScope
  readonly #events: ReflectorEvents
  #isSynced = false
  #problem: string | undefined
  #pause = FIRST_PAUSE
  #timer: NodeJS.Timeout | undefined
  #closed = false
  #informer: ListWatch<KubernetesObject> | undefined
  #path: KindPath | undefined

  constructor(client: KubernetesClient, scope: ReflectorScope, events: ReflectorEvents) {
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
      // Found anew each time: the CRD may have come, or serve another version now.
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
    // A list that was asked for before the end may come after it.
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
      failed: (error) => this.#retry(error),
    })
  }

  #say(synced: boolean, problem: string | undefined): void {
    const isNews = synced !== this.#isSynced || problem !== this.#problem
    this.#isSynced = synced
    this.#problem = problem
    if (isNews) this.#events.changed()
  }

  #retry(error: unknown): void {
    if (this.#closed || this.#timer !== undefined) return
    const isAnswered = this.#scope.isOptional === true && isForbidden(error)
    this.#say(this.#isSynced || isAnswered, sentenceOf(error))
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      void this.run()
    }, this.#pause)
    this.#pause = Math.min(this.#pause * 2, LONGEST_PAUSE)
  }
}

interface InformerEvents extends ReflectorEvents {
  /** Everything that was listed has been put. */
  reached(): void
  failed(error: unknown): void
}

/** path: where it is now. What was listed at another one stays known, so that it is missed when it has gone. */
function informerOf(
  client: KubernetesClient,
  { namespace, name }: ReflectorScope,
  path: () => KindPath,
  events: InformerEvents,
): ListWatch<KubernetesObject> {
  const where = () => listPath(path(), namespace)
  const fieldSelector = name === undefined ? undefined : `metadata.name=${name}`
  const { watch } = patientWatch(client.watch, () => events.reached())
  const watchThere: Pick<Watch, 'watch'> = {
    watch: (_, ...more) => watch(where(), ...more),
  }
  const informer = new ListWatch<KubernetesObject>(
    where(),
    watchThere as Watch,
    () => listAll(client, where(), fieldSelector),
    false,
    undefined,
    fieldSelector,
  )
  const put = (object: KubernetesObject) => events.put(jsonOf(object), path())
  informer.on('add', put)
  informer.on('update', put)
  informer.on('delete', (object) => events.remove(jsonOf(object)))
  informer.on('error', (error) => events.failed(error))
  return informer
}

/** What came over the wire is JSON. */
const jsonOf = (object: KubernetesObject): JsonObject => object as JsonObject

/**
 * An answer: whoever refers to such an object is told that it is not there. To wait for it would let anybody who writes
 * a Gateway keep every replica from starting.
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

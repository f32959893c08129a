// Writes the statuses of resources into their objects: from one replica at a time, only what changed, with retries
// after conflicts and failures.

import { isDeepStrictEqual } from 'node:util'
import { errorText } from '../../../kit/errors.js'
import { partDifferences } from '../../../kit/incremental/diff.js'
import type { Parts } from '../../../kit/incremental/sorted-list.js'
import { isJsonObject, type JsonObject } from '../../../model/json.js'
import { resourceKey } from '../../schema/decode/resource-set.js'
import { type Kind, kindsOf } from '../../schema/kinds/kinds.js'
import { type KubernetesClient, KubernetesError } from './client.js'
import { findKindPath, type KindPath, listPath } from './kinds.js'
import { trim } from './list.js'
import { type StatusContent, statusFor } from './status.js'

/** What the writer is created with. */
export interface StatusWriterOptions {
  readonly client: KubernetesClient
  /** {policy_api_group} of the specification. */
  readonly apiGroup: string
  /** Returns an object as last read, by resourceKey(). */
  raw(key: string): JsonObject | undefined
  /** Stores the API server's answer to a write of basis as the object, until the watch has caught up. */
  adopt(key: string, basis: JsonObject, answer: JsonObject): void
  /** Whether this replica may write the status of an object of this kind in this namespace ('': in none). */
  mayWrite(kind: string, namespace: string): boolean
  /** Logs a sentence. */
  onWarning(message: string): void
}

/** The wanted status of an object. */
export interface ObjectStatus extends StatusContent {
  readonly namespace: string
  readonly name: string
}

/** Writes statuses. */
export interface StatusWriter {
  /** Sets all wanted statuses. A part that is the same list as before is not looked into. */
  update(statuses: Parts<ObjectStatus>): void
  /** Marks a new or replaced object: the next update compares its status even if the wanted one is unchanged. */
  touched(key: string): void
  /** Compares the status of an object again after a change of the status: another writer may have overwritten it. */
  changed(key: string): void
  /** Compares all statuses again: this replica may have gained the right to write. */
  refresh(): void
  close(): Promise<void>
}

const AT_ONCE = 4
/** Maximum number of objects compared per turn of the event loop. */
const COMPARED_PER_TURN = 64

/** Creates a writer that wants no status. */
export const createStatusWriter = (options: StatusWriterOptions): StatusWriter =>
  new Writer(options)

class Writer implements StatusWriter {
  readonly #options: StatusWriterOptions
  readonly #kinds: ReadonlyMap<string, Kind>
  readonly #controllerName: string
  readonly #paths: StatusPaths
  readonly #wanted = new Map<string, ObjectStatus>()
  #statuses: Parts<ObjectStatus> = []
  /** Keys of statuses and objects that changed since the last comparison. */
  readonly #touched = new Set<string>()
  /** What was compared last, as thousands stay the same at every change. */
  readonly #compared = new Map<
    string,
    { readonly object: JsonObject; readonly wanted: StatusContent }
  >()
  readonly #queue = new Set<string>()
  readonly #running = new Set<Promise<void>>()
  readonly #retries: StatusRetries
  /** Suspends retries until the next check: after a failure, others would most likely fail too. */
  #isResting = false
  /** The comparison of the remaining touched keys; undefined: none is scheduled. */
  #next: NodeJS.Immediate | undefined
  #closed = false

  constructor(options: StatusWriterOptions) {
    this.#options = options
    this.#kinds = new Map(kindsOf(options.apiGroup).map((kind) => [kind.kind, kind]))
    this.#controllerName = `${options.apiGroup}/gatehouse`
    this.#paths = new StatusPaths(options.client)
    this.#retries = createStatusRetries(() => {
      this.#isResting = false
      if (this.#closed) this.#retries.clear()
      this.#pump()
    })
  }

  update(statuses: Parts<ObjectStatus>): void {
    const { removed, added } = partDifferences(this.#statuses, statuses)
    this.#statuses = statuses
    const withAddresses = new Set<string>()
    for (const each of removed) {
      if (this.#wanted.get(statusKey(each))?.addresses?.length) withAddresses.add(statusKey(each))
      this.#wanted.delete(statusKey(each))
      this.#touched.add(statusKey(each))
    }
    for (const each of added) {
      // Addresses whose Service is gone are removed once; what another writer sets afterwards stays.
      const isLeft = each.addresses === undefined && withAddresses.has(statusKey(each))
      this.#wanted.set(statusKey(each), isLeft ? { ...each, addresses: [] } : each)
      this.#touched.add(statusKey(each))
    }
    this.#compareTouched()
  }

  touched(key: string): void {
    this.#touched.add(key)
  }

  changed(key: string): void {
    const wanted = this.#wanted.get(key)
    if (wanted === undefined || !this.#mayWrite(wanted)) return
    this.#compare(key, wanted)
    this.#pump()
  }

  refresh(): void {
    for (const keys of [this.#compared.keys(), this.#wanted.keys()])
      for (const key of keys) this.#touched.add(key)
    this.#compared.clear()
    this.#compareTouched()
  }

  async close(): Promise<void> {
    this.#closed = true
    clearImmediate(this.#next)
    await Promise.all(this.#running)
    this.#retries.clear()
  }

  /**
   * Compares the touched keys, some now and the others in later turns. What this replica may not write is forgotten: it
   * compares everything when it may.
   */
  #compareTouched(): void {
    clearImmediate(this.#next)
    this.#next = undefined
    if (this.#closed) return
    let compared = 0
    for (const key of this.#touched) {
      if (compared === COMPARED_PER_TURN) {
        this.#next = setImmediate(() => this.#compareTouched())
        break
      }
      compared += 1
      this.#touched.delete(key)
      const wanted = this.#wanted.get(key)
      if (wanted === undefined || !this.#mayWrite(wanted)) this.#forget(key)
      else this.#compare(key, wanted)
    }
    this.#pump()
  }

  #mayWrite({ kind, namespace }: ObjectStatus): boolean {
    return this.#options.mayWrite(kind, namespace)
  }

  #forget(key: string): void {
    this.#compared.delete(key)
    this.#retries.forget(key)
  }

  #compare(key: string, wanted: ObjectStatus): void {
    const object = this.#options.raw(key)
    if (object === undefined) return
    const before = this.#compared.get(key)
    const isUnchanged = before !== undefined && isSameStatus(before.wanted, wanted)
    if (isUnchanged && before.object === object) return
    this.#compared.set(key, { object, wanted })
    if (this.#statusFor(object, wanted) === undefined) return
    // Overwritten, or the watch still shows the state before the last write.
    if (isUnchanged && generationOf(before.object) === generationOf(object)) {
      if (!this.#queue.has(key)) this.#retries.later(key)
      return
    }
    this.#retries.forget(key)
    this.#queue.add(key)
  }

  #pump(): void {
    for (const keys of [this.#queue, this.#retries.due])
      for (const key of keys) {
        if (this.#running.size >= AT_ONCE || this.#closed) return
        if (keys === this.#retries.due && this.#isResting) return
        keys.delete(key)
        this.#begin(key)
      }
  }

  #begin(key: string): void {
    const wanted = this.#wanted.get(key)
    if (wanted === undefined || !this.#mayWrite(wanted)) {
      this.#forget(key)
      return
    }
    const work = this.#write(key, wanted)
      .then(() => this.#retries.written(key))
      .catch((error: unknown) => this.#failed(key, wanted, error))
      .finally(() => {
        this.#running.delete(work)
        this.#pump()
      })
    this.#running.add(work)
  }

  async #write(key: string, wanted: ObjectStatus): Promise<void> {
    const kind = this.#kinds.get(wanted.kind)
    const object = this.#options.raw(key)
    if (kind === undefined || object === undefined) return
    const status = this.#statusFor(object, wanted)
    if (status === undefined) return
    const { apiVersion, path } = await this.#paths.of(kind, wanted)
    const body = { ...object, apiVersion, kind: kind.kind, metadata: metadataOf(object), status }
    const answer = await this.#options.client.call('PUT', path, body)
    this.#options.adopt(key, object, jsonOf(trim(answer)))
  }

  #failed(key: string, wanted: ObjectStatus, error: unknown): void {
    const status = error instanceof KubernetesError ? error.status : undefined
    // The object no longer exists, or its kind is served in another version now.
    if (status === 404) this.#paths.clear()
    // On a conflict the watch delivers the changed object.
    else if (status !== 409) {
      const message = errorText(error)
      const who = wanted.namespace === '' ? wanted.name : `${wanted.namespace}/${wanted.name}`
      this.#options.onWarning(`the status of ${wanted.kind} ${who} cannot be written: ${message}`)
    }
    this.#isResting = true
    this.#retries.later(key)
  }

  #statusFor(object: JsonObject, wanted: ObjectStatus): JsonObject | undefined {
    return statusFor(object, wanted, { controllerName: this.#controllerName, now: timeNow() })
  }
}

/** Paths of statuses by kind; the API server is asked once per kind. */
class StatusPaths {
  readonly #client: KubernetesClient
  readonly #kinds = new Map<string, Promise<KindPath>>()

  constructor(client: KubernetesClient) {
    this.#client = client
  }

  async of(
    kind: Kind,
    { namespace, name }: ObjectStatus,
  ): Promise<{ readonly apiVersion: string; readonly path: string }> {
    const found = this.#kinds.get(kind.kind) ?? findKindPath(this.#client, kind)
    this.#kinds.set(kind.kind, found)
    try {
      const path = await found
      const list = listPath(path, kind.clusterScoped === true ? undefined : namespace)
      return {
        apiVersion: path.apiVersion,
        path: `${list}/${encodeURIComponent(name)}/status`,
      }
    } catch (error) {
      this.#kinds.delete(kind.kind)
      throw error
    }
  }

  clear(): void {
    this.#kinds.clear()
  }
}

const statusKey = ({ kind, namespace, name }: ObjectStatus): string =>
  resourceKey(kind, namespace, name)

/** Whether both statuses are equal. Equal conditions are one object; counts of attached routes are new each time. */
const isSameStatus = (a: StatusContent, b: StatusContent): boolean =>
  a.conditions === b.conditions &&
  isDeepStrictEqual(a.attachedRoutes, b.attachedRoutes) &&
  isDeepStrictEqual(a.addresses, b.addresses)

const jsonOf = (object: object): JsonObject => object as JsonObject

/** Returns the generation of the object, which changes with its spec. */
const generationOf = ({ metadata }: JsonObject): unknown =>
  isJsonObject(metadata) ? metadata['generation'] : undefined

/** Returns the current time with a precision of seconds, in the API server's format. */
const timeNow = (): string => new Date().toISOString().replace(/\.\d+Z$/, 'Z')

/** Returns the metadata. Its resourceVersion makes any change in between a conflict. */
const metadataOf = ({ metadata }: JsonObject): JsonObject =>
  isJsonObject(metadata) ? metadata : {}

// Per-object exponential backoff for status writes that failed or were overwritten.

/** The pauses of all objects. */
interface StatusRetries {
  /** Schedules a retry after a pause. */
  later(key: string): void
  /** Keys whose pause is over. The caller removes those it takes. */
  readonly due: Set<string>
  /** Records a successful write. If the status stays as written for a while, the next pause is short again. */
  written(key: string): void
  /** Drops the pause of an object, as the wanted status has changed. */
  forget(key: string): void
  clear(): void
}

/** Pauses in milliseconds. */
const FIRST_PAUSE = 500
const LONGEST_PAUSE = 30_000

interface Pause {
  readonly milliseconds: number
  readonly until: number
  /** performance.now() of the last successful write. */
  readonly written?: number
}

/** Creates the schedule. Calls onDue every half second while any retry is pending. */
function createStatusRetries(onDue: () => void): StatusRetries {
  const pauses = new Map<string, Pause>()
  const waiting = new Set<string>()
  const due = new Set<string>()
  let timer: NodeJS.Timeout | undefined

  const look = (): void => {
    timer = undefined
    const now = performance.now()
    for (const key of waiting) {
      if ((pauses.get(key)?.until ?? 0) > now) continue
      waiting.delete(key)
      due.add(key)
    }
    onDue()
    if (waiting.size + due.size > 0) timer ??= setTimeout(look, FIRST_PAUSE)
  }
  return {
    due,
    later: (key) => {
      if (waiting.has(key) || due.has(key)) return
      const now = performance.now()
      const milliseconds = pauseAfter(pauses.get(key), now)
      pauses.set(key, { milliseconds, until: now + milliseconds })
      waiting.add(key)
      timer ??= setTimeout(look, FIRST_PAUSE)
    },
    written: (key) => {
      const before = pauses.get(key)
      if (before !== undefined) pauses.set(key, { ...before, written: performance.now() })
    },
    forget: (key) => {
      pauses.delete(key)
      waiting.delete(key)
      due.delete(key)
    },
    clear: () => {
      for (const kept of [pauses, waiting, due]) kept.clear()
      clearTimeout(timer)
      timer = undefined
    },
  }
}

/** Returns the next pause. Success does not shorten it: two writers that overwrite each other both keep succeeding. */
function pauseAfter(before: Pause | undefined, now: number): number {
  const hasStayed = before?.written !== undefined && now - before.written > LONGEST_PAUSE
  return before === undefined || hasStayed
    ? FIRST_PAUSE
    : Math.min(before.milliseconds * 2, LONGEST_PAUSE)
}

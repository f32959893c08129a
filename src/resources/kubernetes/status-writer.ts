// Writes what we say of the resources into their objects: one replica at a time, only what has changed, tried again after
// conflicts and failures.

import { isDeepStrictEqual } from 'node:util'
import { errorText } from '../../errors.js'
import { differences } from '../../incremental/diff.js'
import { memo } from '../../incremental/memo.js'
import type { JsonObject } from '../../ir/json.js'
import { isJsonObject } from '../../ir/json.js'
import { resourceKey } from '../decode/resource-set.js'
import { type Kind, kindsOf } from '../kinds/kinds.js'
import { type KubernetesClient, KubernetesError } from './client.js'
import { findKindPath, type KindPath, listPath } from './kinds.js'
import { trim } from './list.js'
import { type StatusContent, statusFor } from './status.js'
import { createStatusRetries, type StatusRetries } from './status-retries.js'

export interface StatusWriterOptions {
  readonly client: KubernetesClient
  /** {policy_api_group} of the specification. */
  readonly apiGroup: string
  /** An object as it was last read, by resourceKey(). */
  raw(key: string): JsonObject | undefined
  /** The API server's answer to a write of basis is what the object is now, until the watch has caught up. */
  adopt(key: string, basis: JsonObject, answer: JsonObject): void
  /** Whether it is ours to write. */
  mayWrite(): boolean
  /** A sentence for the log. */
  onWarning(message: string): void
}

export interface ObjectStatus extends StatusContent {
  readonly namespace: string
  readonly name: string
}

export interface StatusWriter {
  /** Everything that is said now. */
  update(said: readonly ObjectStatus[]): void
  /** The object is another one: the next update looks at it again, whatever is said. */
  touched(key: string): void
  /** Looks again at one whose status has changed: somebody else may have overwritten ours. */
  changed(key: string): void
  /** Looks again at everything: it may have become ours to write. */
  refresh(): void
  close(): Promise<void>
}

const AT_ONCE = 4

export const createStatusWriter = (options: StatusWriterOptions): StatusWriter =>
  new Writer(options)

class Writer implements StatusWriter {
  readonly #options: StatusWriterOptions
  readonly #kinds: ReadonlyMap<string, Kind>
  readonly #controllerName: string
  readonly #paths: StatusPaths
  readonly #wanted = new Map<string, ObjectStatus>()
  #said: readonly ObjectStatus[] = []
  /** Of what is said anew, or of objects that are others, since the last look. */
  readonly #touched = new Set<string>()
  /** What was compared last: thousands stay the same at every change. */
  readonly #looked = new Map<
    string,
    { readonly object: JsonObject; readonly said: StatusContent }
  >()
  readonly #queue = new Set<string>()
  readonly #running = new Set<Promise<void>>()
  readonly #retries: StatusRetries
  /** Until the next look: what has failed would fail again. */
  #isResting = false
  #closed = false

  constructor(options: StatusWriterOptions) {
    this.#options = options
    this.#kinds = new Map(kindsOf(options.apiGroup).map((kind) => [kind.kind, kind]))
    this.#controllerName = `${options.apiGroup}/gatehouse`
    this.#paths = new StatusPaths(options.client)
    this.#retries = createStatusRetries(() => {
      this.#isResting = false
      // Who writes later looks at everything anew.
      if (this.#closed || !options.mayWrite()) this.#retries.clear()
      this.#pump()
    })
  }

  update(said: readonly ObjectStatus[]): void {
    const { removed, added } = differences(this.#said, said)
    this.#said = said
    for (const each of removed) {
      this.#wanted.delete(keyOf(each))
      this.#touched.add(keyOf(each))
    }
    for (const each of added) {
      this.#wanted.set(keyOf(each), each)
      this.#touched.add(keyOf(each))
    }
    this.#lookAtTouched()
  }

  touched(key: string): void {
    this.#touched.add(key)
  }

  changed(key: string): void {
    const said = this.#wanted.get(key)
    if (said === undefined || !this.#options.mayWrite()) return
    this.#lookAt(key, said)
    this.#pump()
  }

  refresh(): void {
    for (const keys of [this.#looked.keys(), this.#wanted.keys()])
      for (const key of keys) this.#touched.add(key)
    this.#looked.clear()
    this.#lookAtTouched()
  }

  async close(): Promise<void> {
    this.#closed = true
    await Promise.all(this.#running)
    this.#retries.clear()
  }

  /** Who may not write remembers them: it may have to write later. */
  #lookAtTouched(): void {
    if (!this.#options.mayWrite()) return
    for (const key of this.#touched) {
      const said = this.#wanted.get(key)
      if (said !== undefined) this.#lookAt(key, said)
      else if (this.#looked.delete(key)) this.#retries.forget(key)
    }
    this.#touched.clear()
    this.#pump()
  }

  #lookAt(key: string, said: ObjectStatus): void {
    const object = this.#options.raw(key)
    if (object === undefined) return
    const before = this.#looked.get(key)
    const saysNothingNew = before !== undefined && saysTheSame(before.said, said)
    if (saysNothingNew && before.object === object) return
    this.#looked.set(key, { object, said })
    if (this.#statusFor(object, said) === undefined) return
    // Overwritten; or the watch still shows what was before our last write.
    if (saysNothingNew && generationOf(before.object) === generationOf(object)) {
      if (!this.#queue.has(key)) this.#retries.later(key)
      return
    }
    this.#retries.forget(key)
    this.#queue.add(key)
  }

  #pump(): void {
    for (const keys of [this.#queue, this.#retries.due])
      for (const key of keys) {
        if (this.#running.size >= AT_ONCE || this.#closed || !this.#options.mayWrite()) return
        if (keys === this.#retries.due && this.#isResting) return
        keys.delete(key)
        this.#begin(key)
      }
  }

  #begin(key: string): void {
    const said = this.#wanted.get(key)
    if (said === undefined) {
      this.#retries.forget(key)
      return
    }
    const work = this.#write(key, said)
      .then(() => this.#retries.written(key))
      .catch((error: unknown) => this.#failed(key, said, error))
      .finally(() => {
        this.#running.delete(work)
        this.#pump()
      })
    this.#running.add(work)
  }

  async #write(key: string, said: ObjectStatus): Promise<void> {
    const kind = this.#kinds.get(said.kind)
    const object = this.#options.raw(key)
    if (kind === undefined || object === undefined) return
    const status = this.#statusFor(object, said)
    if (status === undefined) return
    const { apiVersion, path } = await this.#paths.of(kind, said)
    const body = { ...object, apiVersion, kind: kind.kind, metadata: metadataOf(object), status }
    const answer = await this.#options.client.call('PUT', path, body)
    this.#options.adopt(key, object, jsonOf(trim(answer)))
  }

  #failed(key: string, said: ObjectStatus, error: unknown): void {
    const status = error instanceof KubernetesError ? error.status : undefined
    // Gone, or served in another version now.
    if (status === 404) this.#paths.clear()
    // What has changed in the meantime is brought by the watch.
    else if (status !== 409) {
      const message = errorText(error)
      const who = said.namespace === '' ? said.name : `${said.namespace}/${said.name}`
      this.#options.onWarning(`the status of ${said.kind} ${who} cannot be written: ${message}`)
    }
    this.#isResting = true
    this.#retries.later(key)
  }

  #statusFor(object: JsonObject, said: ObjectStatus): JsonObject | undefined {
    return statusFor(object, said, { controllerName: this.#controllerName, now: timeNow() })
  }
}

/** Where statuses are written, by kind: asked of the API server once. */
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

const keyOf = memo(({ kind, namespace, name }: ObjectStatus) => resourceKey(kind, namespace, name))

/** Conditions that say the same are the same object; what is attached is counted anew each time. */
const saysTheSame = (a: StatusContent, b: StatusContent): boolean =>
  a.conditions === b.conditions && isDeepStrictEqual(a.attachedRoutes, b.attachedRoutes)

const jsonOf = (object: object): JsonObject => object as JsonObject

/** Of its spec. */
const generationOf = ({ metadata }: JsonObject): unknown =>
  isJsonObject(metadata) ? metadata['generation'] : undefined

/** Seconds, as the API server writes them. */
const timeNow = (): string => new Date().toISOString().replace(/\.\d+Z$/, 'Z')

/** Its resourceVersion makes a conflict of any change in between. */
const metadataOf = ({ metadata }: JsonObject): JsonObject =>
  isJsonObject(metadata) ? metadata : {}

// Writes what we say of the resources into their objects: one replica at a time, only what has changed, tried again after
// conflicts and failures.

import { isDeepStrictEqual } from 'node:util'
import type { JsonObject } from '../../ir/json.js'
import { isJsonObject } from '../../ir/json.js'
import { memo } from '../../incremental/memo.js'
import { KubernetesError, type KubernetesClient } from './client.js'
import { findKindPath, listPath } from './kinds.js'
import { trim } from './list.js'
import { createStatusRetries } from './status-retries.js'
import { statusFor, type Said } from './status.js'
import { kindsOf, type Kind } from '../kinds/kinds.js'
import { resourceKey } from '../decode/resource-set.js'

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

export interface SaidOf extends Said {
  readonly namespace: string
  readonly name: string
}

export interface StatusWriter {
  /** Everything that is said now. */
  update(said: readonly SaidOf[]): void
  /** Looks again at one whose status has changed: somebody else may have overwritten ours. */
  changed(key: string): void
  /** Looks again at everything: it may have become ours to write. */
  refresh(): void
  close(): Promise<void>
}

const AT_ONCE = 4

export function createStatusWriter(options: StatusWriterOptions): StatusWriter {
  const kinds = new Map(kindsOf(options.apiGroup).map((kind) => [kind.kind, kind]))
  const controllerName = `${options.apiGroup}/gatehouse`
  const wanted = new Map<string, SaidOf>()
  /** What was compared last: thousands stay the same at every change. */
  const looked = new Map<string, { readonly object: JsonObject; readonly said: Said }>()
  const queue = new Set<string>()
  const running = new Set<Promise<void>>()
  const paths = new Map<string, Promise<string>>()
  /** Until the next look: what has failed would fail again. */
  let isResting = false
  let closed = false

  const pathOf = async (kind: Kind, { namespace, name }: SaidOf): Promise<string> => {
    const scope = kind.clusterScoped === true ? undefined : namespace
    const key = `${kind.kind} ${scope ?? ''}`
    const found =
      paths.get(key) ?? findKindPath(options.client, kind).then((path) => listPath(path, scope))
    paths.set(key, found)
    try {
      return `${await found}/${encodeURIComponent(name)}/status`
    } catch (error) {
      paths.delete(key)
      throw error
    }
  }
  const write = async (key: string, said: SaidOf): Promise<void> => {
    const kind = kinds.get(said.kind)
    const object = options.raw(key)
    if (kind === undefined || object === undefined) return
    const status = statusFor(object, said, { controllerName, now: timeNow() })
    if (status === undefined) return
    const path = await pathOf(kind, said)
    const answer = await options.client.call('PUT', path, withStatus(object, kind, status, path))
    options.adopt(key, object, jsonOf(trim(answer)))
  }
  const failed = (key: string, said: SaidOf, error: unknown): void => {
    const status = error instanceof KubernetesError ? error.status : undefined
    // Gone, or served in another version now.
    if (status === 404) paths.clear()
    // What has changed in the meantime is brought by the watch.
    else if (status !== 409) {
      const message = error instanceof Error ? error.message : String(error)
      const who = said.namespace === '' ? said.name : `${said.namespace}/${said.name}`
      options.onWarning(`the status of ${said.kind} ${who} cannot be written: ${message}`)
    }
    isResting = true
    retries.later(key)
  }
  const begin = (key: string): void => {
    const said = wanted.get(key)
    if (said === undefined) {
      retries.forget(key)
      return
    }
    const work = write(key, said)
      .then(() => retries.written(key))
      .catch((error: unknown) => failed(key, said, error))
      .finally(() => {
        running.delete(work)
        pump()
      })
    running.add(work)
  }
  const pump = (): void => {
    for (const keys of [queue, retries.due])
      for (const key of keys) {
        if (running.size >= AT_ONCE || closed || !options.mayWrite()) return
        if (keys === retries.due && isResting) return
        keys.delete(key)
        begin(key)
      }
  }
  const retries = createStatusRetries(() => {
    isResting = false
    // Who writes later looks at everything anew.
    if (closed || !options.mayWrite()) retries.clear()
    pump()
  })
  const lookAt = (key: string, said: SaidOf): void => {
    const object = options.raw(key)
    if (object === undefined) return
    const before = looked.get(key)
    const saysNothingNew = before !== undefined && saysTheSame(before.said, said)
    if (saysNothingNew && before.object === object) return
    looked.set(key, { object, said })
    if (statusFor(object, said, { controllerName, now: timeNow() }) === undefined) return
    // Overwritten; or the watch still shows what was before our last write.
    if (saysNothingNew && generationOf(before.object) === generationOf(object)) {
      if (!queue.has(key)) retries.later(key)
      return
    }
    retries.forget(key)
    queue.add(key)
  }
  const lookAtAll = (): void => {
    if (!options.mayWrite()) return
    for (const [key, said] of wanted) lookAt(key, said)
    for (const key of looked.keys())
      if (!wanted.has(key)) {
        looked.delete(key)
        retries.forget(key)
      }
    pump()
  }
  return {
    update: (said) => {
      wanted.clear()
      for (const each of said) wanted.set(keyOf(each), each)
      lookAtAll()
    },
    changed: (key) => {
      const said = wanted.get(key)
      if (said === undefined || !options.mayWrite()) return
      lookAt(key, said)
      pump()
    },
    refresh: () => {
      looked.clear()
      lookAtAll()
    },
    close: async () => {
      closed = true
      await Promise.all(running)
      retries.clear()
    },
  }
}

const keyOf = memo(({ kind, namespace, name }: SaidOf) => resourceKey(kind, namespace, name))

/** Conditions that say the same are the same object; what is attached is counted anew each time. */
const saysTheSame = (a: Said, b: Said): boolean =>
  a.conditions === b.conditions && isDeepStrictEqual(a.attachedRoutes, b.attachedRoutes)

const jsonOf = (object: object): JsonObject => object as JsonObject

/** Of its spec. */
const generationOf = ({ metadata }: JsonObject): unknown =>
  isJsonObject(metadata) ? metadata['generation'] : undefined

/** Seconds, as the API server writes them. */
const timeNow = (): string => new Date().toISOString().replace(/\.\d+Z$/, 'Z')

/** The metadata's resourceVersion makes a conflict of any change in between. */
function withStatus(
  object: JsonObject,
  { kind }: Kind,
  status: JsonObject,
  path: string,
): JsonObject {
  const metadata = isJsonObject(object['metadata']) ? object['metadata'] : {}
  const apiVersion = path.replace(/^\/apis\/([^/]+\/[^/]+)\/.*/, '$1')
  return { ...object, apiVersion, kind, metadata, status }
}

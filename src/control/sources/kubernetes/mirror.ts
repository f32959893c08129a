// Mirrors all objects of some kinds that Gatehouse does not decode: those of a mesh, with their statuses.

import type { JsonObject } from '../../../model/json.js'
import { isJsonObject } from '../../../model/json.js'
import { resourceKey } from '../../schema/decode/resource-set.js'
import type { KubernetesClient } from './client.js'
import type { KindName } from './kinds.js'
import { type Reflector, startReflector } from './reflector.js'

/** The mirrored objects. */
export interface ObjectMirror {
  /** Returns the object as last received, by resourceKey(). */
  get(key: string): JsonObject | undefined
  /** Returns all objects of a kind, with their keys. */
  ofKind(kind: string): Iterable<readonly [string, JsonObject]>
  /** Returns why the mirror is not complete yet; empty: every kind has been listed. */
  obstacles(): readonly string[]
  close(): void
}

/** A kind, and which of its objects are mirrored. */
export interface MirroredKind extends KindName {
  /** Only objects of this name are mirrored; absent: all. */
  readonly name?: string
  /** Only objects with this LABEL=VALUE are mirrored; absent: all. */
  readonly labelSelector?: string
  /** Returns what is kept of an object; absent: all of it. */
  readonly keep?: (object: JsonObject) => JsonObject
}

/**
 * Starts a watch for each kind and namespace.
 * @param namespaces empty for all.
 * @param onChange called when an object has changed, or a result of obstacles().
 */
export function startMirror(
  client: KubernetesClient,
  kinds: readonly MirroredKind[],
  namespaces: readonly string[],
  onChange: () => void,
): ObjectMirror {
  const objects = new Map(kinds.map(({ kind }) => [kind, new Map<string, JsonObject>()]))
  const places = namespaces.length === 0 ? [undefined] : namespaces
  const watched = kinds.flatMap((kind) =>
    places.map((namespace) => ({
      kind: kind.kind,
      reflector: watch(client, kind, namespace, (change) => {
        change?.(objects.get(kind.kind) ?? new Map<string, JsonObject>())
        onChange()
      }),
    })),
  )
  return {
    get: (key) => {
      for (const ofKind of objects.values()) {
        const object = ofKind.get(key)
        if (object !== undefined) return object
      }
      return undefined
    },
    ofKind: (kind) => objects.get(kind) ?? [],
    obstacles: () =>
      watched
        .filter(({ reflector }) => !reflector.synced())
        .map(
          ({ kind, reflector }) =>
            `${kind} cannot be read: ${reflector.problem() ?? 'it has not been listed yet'}`,
        ),
    close: () => {
      for (const { reflector } of watched) reflector.close()
    },
  }
}

type Change = (objects: Map<string, JsonObject>) => void

function watch(
  client: KubernetesClient,
  kind: MirroredKind,
  namespace: string | undefined,
  changed: (change?: Change) => void,
): Reflector {
  const { name, labelSelector, keep = (object: JsonObject) => object } = kind
  const scope = {
    kind,
    ...(namespace === undefined ? {} : { namespace }),
    ...(name === undefined ? {} : { name }),
    ...(labelSelector === undefined ? {} : { labelSelector }),
  }
  return startReflector(client, scope, {
    put: (object) =>
      changed((objects) => void objects.set(objectKey(kind.kind, object), keep(object))),
    remove: (object) => changed((objects) => void objects.delete(objectKey(kind.kind, object))),
    changed: () => changed(),
  })
}

function objectKey(kind: string, { metadata }: JsonObject): string {
  const { namespace, name } = isJsonObject(metadata) ? metadata : {}
  return resourceKey(
    kind,
    typeof namespace === 'string' ? namespace : '',
    typeof name === 'string' ? name : '',
  )
}

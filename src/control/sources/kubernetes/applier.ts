// Applies objects by server-side apply, and deletes them. Never forces: a field of another manager stays as it is, and
// the conflict is an error.

import { isJsonObject, type JsonObject } from '../../../model/json.js'
import { type KubernetesClient, KubernetesError } from './client.js'
import { findKindPath, type KindName, type KindPath, listPath } from './kinds.js'

/** An object to apply or delete. */
export interface ObjectName {
  readonly kind: string
  readonly namespace: string
  readonly name: string
}

/** Writes objects. */
export interface Applier {
  /** Resolves to the object as it is; undefined: it does not exist. */
  read(object: ObjectName): Promise<JsonObject | undefined>
  /** Creates or changes the object; resolves to the API server's answer. Rejects (KubernetesError) on a conflict. */
  apply(object: ObjectName, content: JsonObject): Promise<JsonObject>
  /** Deletes the object if it is still the one with this uid. Resolves if it is gone. */
  remove(object: ObjectName, uid: string): Promise<void>
}

/** Name under which the API server records the fields that Gatehouse applies. */
const FIELD_MANAGER = 'gatehouse'

/** @param kinds the kinds that it applies. */
export function createApplier(client: KubernetesClient, kinds: readonly KindName[]): Applier {
  const paths = new Map<string, KindPath>()
  const find = async ({ kind, namespace, name }: ObjectName) => {
    const known = kinds.find((each) => each.kind === kind)
    if (known === undefined) throw new KubernetesError(`${kind} is no kind that is applied`)
    const path = paths.get(kind) ?? (await findKindPath(client, known))
    paths.set(kind, path)
    return {
      apiVersion: path.apiVersion,
      path: `${listPath(path, namespace)}/${encodeURIComponent(name)}`,
    }
  }
  return {
    read: async (object) => {
      const { path } = await find(object)
      try {
        return await client.call('GET', path)
      } catch (error) {
        if (error instanceof KubernetesError && error.status === 404) return undefined
        throw error
      }
    },
    apply: async (object, content) => {
      const { apiVersion, path } = await find(object)
      const query = `?fieldManager=${FIELD_MANAGER}`
      return client.call('PATCH', path + query, { ...content, apiVersion })
    },
    remove: async (object, uid) => {
      try {
        await client.call('DELETE', (await find(object)).path, { preconditions: { uid } })
      } catch (error) {
        if (!isGone(error)) throw error
      }
    },
  }
}

/** Whether the object no longer exists, or another one has its name. */
const isGone = (error: unknown): boolean =>
  error instanceof KubernetesError && (error.status === 404 || error.status === 409)

/** Returns a text member of an object's metadata. */
export function metadataText({ metadata }: JsonObject, member: string): string | undefined {
  const value = isJsonObject(metadata) ? metadata[member] : undefined
  return typeof value === 'string' ? value : undefined
}

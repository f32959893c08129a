// Finds the API paths of a kind by asking the API server, as the installed CRDs decide which versions are served.

import type { Json, JsonObject } from '../../../model/json.js'
import { isJsonObject } from '../../../model/json.js'
import type { Kind } from '../../schema/kinds/kinds.js'
import { type KubernetesClient, KubernetesError } from './client.js'

/** What the path of a kind is found by. */
export type KindName = Pick<Kind, 'group' | 'kind' | 'versions' | 'clusterScoped' | 'isOptional'>

/** Where the API server serves a kind. */
export interface KindPath {
  /** API version, e.g. "gateway.networking.k8s.io/v1". */
  readonly apiVersion: string
  /** Path prefix, e.g. "/apis/gateway.networking.k8s.io/v1". */
  readonly prefix: string
  /** Plural name in paths, e.g. "httproutes". */
  readonly plural: string
}

/** Thrown for a kind that the API server lacks. */
export class UnknownKindError extends KubernetesError {}

/** Finds the path. Rejects (UnknownKindError) with what to install if the API server lacks the kind. */
export async function findKindPath(client: KubernetesClient, kind: KindName): Promise<KindPath> {
  for (const version of kind.versions) {
    const apiVersion = kind.group === '' ? version : `${kind.group}/${version}`
    const prefix = kind.group === '' ? `/api/${version}` : `/apis/${apiVersion}`
    const plural = pluralOf(await resourcesBelow(client, prefix), kind.kind)
    if (plural !== undefined) return { apiVersion, prefix, plural }
  }
  throw new UnknownKindError(`the API server does not know it: install ${definitionsOf(kind)}`)
}

const definitionsOf = ({ group, versions }: KindName): string =>
  MESHES.get(group) ??
  (group === 'gateway.networking.k8s.io'
    ? `the Gateway API's CRDs (v1.6.3, experimental channel)`
    : `the CRDs of ${group}/${versions[0]} ("gatehouse crds" prints them)`)

/** Names of the control planes that come with the CRDs of a group. */
const MESHES: ReadonlyMap<string, string> = new Map([
  ['gateway.envoyproxy.io', 'Envoy Gateway'],
  ['networking.istio.io', 'Istio'],
  ['security.istio.io', 'Istio'],
])

async function resourcesBelow(client: KubernetesClient, prefix: string): Promise<JsonObject> {
  try {
    return await client.call('GET', prefix)
  } catch (error) {
    if (error instanceof KubernetesError && error.status === 404) return {}
    throw error
  }
}

/** Returns the plural of a kind in an APIResourceList (meta/v1). Names with a slash are subresources. */
function pluralOf({ resources }: JsonObject, kind: string): string | undefined {
  if (!Array.isArray(resources)) return undefined
  for (const resource of resources as readonly Json[]) {
    if (!isJsonObject(resource) || resource['kind'] !== kind) continue
    const { name } = resource
    if (typeof name === 'string' && !name.includes('/')) return name
  }
  return undefined
}

/** Returns the path of all objects of a kind, or of those in a namespace. */
export const listPath = ({ prefix, plural }: KindPath, namespace: string | undefined): string =>
  namespace === undefined
    ? `${prefix}/${plural}`
    : `${prefix}/namespaces/${encodeURIComponent(namespace)}/${plural}`

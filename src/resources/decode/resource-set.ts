// Decoded resources, in path order → Resources by kind, each sorted; a resource that is defined twice counts once.

import { memo } from '../../incremental/memo.js'
import type { Problem, Resource, Resources } from '../kinds/resources.js'
import type { DecodedResource } from './decode.js'

/** GatewayClass and Namespace have no namespace; they and a problem's absent one count as "default". */
export const resourceKey = (kind: string, namespace: string | undefined, name: string): string =>
  `${kind}/${namespace === undefined || namespace === '' ? 'default' : namespace}/${name}`

export const resourceKeyOf = memo(({ kind, metadata }: Resource<unknown>): string =>
  resourceKey(kind, metadata.namespace, metadata.name),
)

/** The first of two definitions counts; the other is a problem that names both places. */
export function collectResources(decoded: readonly DecodedResource[]): {
  readonly resources: Resources
  readonly problems: readonly Problem[]
} {
  const sets = emptySets()
  const first = new Map<string, DecodedResource>()
  const problems: Problem[] = []
  for (const each of decoded) {
    const key = resourceKeyOf(each.resource)
    const earlier = first.get(key)
    if (earlier === undefined) {
      first.set(key, each)
      sets[each.collection].push(each.resource)
    } else problems.push(duplicate(each, earlier))
  }
  for (const set of Object.values(sets)) set.sort(byName)
  // Each collection holds what the schema of its kind has decoded: kinds.ts pairs the two.
  return { resources: sets as Resources, problems }
}

const emptySets = (): Record<keyof Resources, Resource<unknown>[]> => ({
  gatewayClasses: [],
  gateways: [],
  httpRoutes: [],
  proxyPolicies: [],
  proxyBackends: [],
  proxyParameters: [],
  backendTlsPolicies: [],
  referenceGrants: [],
  namespaces: [],
  services: [],
  endpointSlices: [],
  secrets: [],
  configMaps: [],
})

function duplicate(later: DecodedResource, earlier: DecodedResource): Problem {
  const { apiVersion, kind, metadata } = later.resource
  const { namespace, name } = metadata
  const called = namespace === '' ? name : `${namespace}/${name}`
  return {
    source: later.position,
    message: `${kind} ${called} is defined twice: ${earlier.resource.source} counts, this one does not`,
    apiVersion,
    kind,
    namespace,
    name,
  }
}

const byName = (a: Resource<unknown>, b: Resource<unknown>): number =>
  compare(a.metadata.namespace, b.metadata.namespace) || compare(a.metadata.name, b.metadata.name)

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

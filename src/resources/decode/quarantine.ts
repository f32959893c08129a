// What the files say now, and what was in force before → what may be in force: while a document that has never decoded
// may hold a policy, new routes wait for it, and policies that are gone stay (it may be one of them, renamed or moved).
// Otherwise a route would be open for want of a policy that was written.

import { differences } from '../../incremental/diff.js'
import type { HttpRouteSpec } from '../kinds/http-route.js'
import { KUBERNETES, type Problem, type ProviderState, type Resource } from '../kinds/resources.js'
import { resourceKeyOf } from './resource-set.js'

export interface ReadState extends ProviderState {
  /** The problems of documents that have never decoded. */
  readonly undecoded: readonly Problem[]
  /** Places that are being written to. */
  readonly unsettled?: readonly Unsettled[]
}

export interface Unsettled {
  /** e.g. "until FILE has not been written to for 2 s". */
  readonly until: string
  /** A policy of any route may be on its way there. */
  readonly hasPolicies: boolean
  /** Keys of the routes there, whose policies may be on their way. */
  readonly routes: ReadonlySet<string>
}

/** Kinds of which a broken document cannot be the policy of a route. */
const HARMLESS = new Set([
  'ProxyBackend',
  'ProxyParameters',
  'GatewayClass',
  'Gateway',
  'HTTPRoute',
  'BackendTLSPolicy',
  'ReferenceGrant',
  'Namespace',
  'Service',
  'EndpointSlice',
  'Secret',
  'ConfigMap',
])

/** previous: the state in force. Once it was complete, it stays so: later documents leave the last good ones alone. */
export function holdBackNewRoutes(
  { undecoded, unsettled = [], ...state }: ReadState,
  previous: ProviderState | undefined,
): ProviderState {
  if (previous?.complete !== true) return state
  const reasons = undecoded.filter(({ kind }) => kind === undefined || !HARMLESS.has(kind))
  if (reasons.length === 0 && unsettled.length === 0) return { ...state, complete: true }
  const { httpRoutes, proxyPolicies } = state.resources
  const held = onlyIn(httpRoutes, previous.resources.httpRoutes).flatMap((route) =>
    doubtsAbout(route, reasons, unsettled),
  )
  // Objects of a cluster keep their names: none of them is another one renamed.
  const renamed = reasons.some(({ source }) => source !== KUBERNETES) ? reasons : []
  const gone = onlyIn(previous.resources.proxyPolicies, proxyPolicies).flatMap((policy) =>
    doubtsAbout(policy, renamed, unsettled),
  )
  const isHeld = new Set(held.map(({ resource }) => resource))
  return {
    resources: {
      ...state.resources,
      httpRoutes: isHeld.size === 0 ? httpRoutes : httpRoutes.filter((route) => !isHeld.has(route)),
      proxyPolicies:
        gone.length === 0
          ? proxyPolicies
          : [...proxyPolicies, ...gone.map(({ resource }) => resource)].sort(byKey),
    },
    problems: [
      ...state.problems,
      ...held.map(({ resource, doubt }) => problemOf(resource, doubt.held)),
      ...gone.map(({ resource, doubt }) => ({
        ...problemOf(resource, doubt.kept),
        stays: true as const,
      })),
    ],
    ...(state.notes !== undefined && { notes: state.notes }),
    complete: true,
  }
}

/** Those whose key none of the others has. */
function onlyIn<Spec>(
  resources: readonly Resource<Spec>[],
  others: readonly Resource<Spec>[],
): readonly Resource<Spec>[] {
  const { removed, added } = differences(others, resources)
  const keys = new Set(removed.map(resourceKeyOf))
  return added.filter((resource) => !keys.has(resourceKeyOf(resource)))
}

interface Doubt<Spec> {
  readonly resource: Resource<Spec>
  /** What is said of a new route, and of a policy that is gone. */
  readonly doubt: { readonly held: string; readonly kept: string }
}

/**
 * By the first document that concerns the resource; a policy of a cluster is for routes, and for Gateways, of its own
 * namespace, and without one it is not known which.
 */
function doubtsAbout<Spec>(
  resource: Resource<Spec>,
  reasons: readonly Problem[],
  unsettled: readonly Unsettled[],
): readonly Doubt<Spec>[] {
  const namespaces = policyNamespaces(resource)
  const reason = reasons.find(
    ({ source, namespace }) =>
      source !== KUBERNETES || namespace === undefined || namespaces.includes(namespace),
  )
  if (reason !== undefined)
    return [{ resource, doubt: { held: heldMessage(reason), kept: keptMessage(reason) } }]
  const writing = unsettled.find(
    ({ hasPolicies, routes }) => hasPolicies || routes.has(resourceKeyOf(resource)),
  )
  if (writing === undefined) return []
  const held = `waits ${writing.until}: it may hold the policy of this route`
  const kept = `is gone from the files, but stays in force ${writing.until}: it may move there`
  return [{ resource, doubt: { held, kept } }]
}

/** Where a policy of a cluster stands that may be in force on a route: its own namespace, and those of its Gateways. */
function policyNamespaces({ kind, metadata, spec }: Resource<unknown>): readonly string[] {
  const parents = kind === 'HTTPRoute' ? (spec as HttpRouteSpec).parentRefs : []
  return [metadata.namespace, ...parents.flatMap(({ namespace }) => namespace ?? [])]
}

const byKey = (a: Resource<unknown>, b: Resource<unknown>): number =>
  resourceKeyOf(a) < resourceKeyOf(b) ? -1 : 1

const problemOf = (
  { apiVersion, kind, metadata: { namespace, name }, source }: Resource<unknown>,
  message: string,
): Problem => ({
  source: source === KUBERNETES ? source : `${source}:1`,
  message,
  apiVersion,
  kind,
  namespace,
  name,
})

const keptMessage = ({ source }: Problem): string =>
  `is gone from the files, but stays in force until the document at ${source} can be decoded or is gone too: it may be this policy`

const heldMessage = ({ source, name }: Problem): string =>
  source === KUBERNETES && name === undefined
    ? 'waits until ProxyPolicies can be read again: one of them may be the policy of this route'
    : `waits until ${name === undefined ? 'the document' : `ProxyPolicy ${name}`} at ${source} can be decoded: it may be the policy of this route`

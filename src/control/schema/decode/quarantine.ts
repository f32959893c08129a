// Quarantine: while a document that has never decoded may hold a policy, new routes are withheld, and policies that are
// gone stay in force (the document may be one of them, renamed or moved). Otherwise a route would be open although its
// policy was written.

import { differences } from '../../../kit/incremental/diff.js'
import { each, mapEach, type Work } from '../../../kit/turns.js'
import type { HttpRouteSpec } from '../kinds/http-route.js'
import { KUBERNETES, type Problem, type ProviderState, type Resource } from '../kinds/resources.js'
import { resourceKeyOf } from './resource-set.js'

/** What was read, before the quarantine. */
export interface ReadState extends ProviderState {
  /** Problems of documents that have never decoded. */
  readonly undecoded: readonly Problem[]
  /** Files that are being written to. */
  readonly unsettled?: readonly Unsettled[]
}

/** A file whose content may still change. */
export interface Unsettled {
  /** When the doubt ends, e.g. "until FILE has not been written to for 2 s". */
  readonly until: string
  /** Whether a policy of any route may be about to appear there. */
  readonly hasPolicies: boolean
  /** Keys of the routes there, whose policies may be about to appear. */
  readonly routes: ReadonlySet<string>
}

/** Kinds whose broken documents cannot be the policy of a route. */
const HARMLESS = new Set([
  'ProxyBackend',
  'ProxyParameters',
  'GatewayClass',
  'Gateway',
  'ListenerSet',
  'HTTPRoute',
  'BackendTLSPolicy',
  'ReferenceGrant',
  'Namespace',
  'Service',
  'EndpointSlice',
  'Secret',
  'ConfigMap',
])

/**
 * Returns what may be in force. previous is the state in force; once it is complete, it stays complete, as later broken
 * documents do not displace their last good versions.
 */
export function* holdBackNewRoutes(
  { undecoded, unsettled = [], ...state }: ReadState,
  previous: ProviderState | undefined,
): Work<ProviderState> {
  if (previous?.complete !== true) return state
  const reasons = undecoded.filter(({ kind }) => kind === undefined || !HARMLESS.has(kind))
  if (reasons.length === 0 && unsettled.length === 0) return { ...state, complete: true }
  const { httpRoutes, proxyPolicies } = state.resources
  const writing = yield* firstOfEach(unsettled)
  const held = yield* doubtful(
    onlyIn(httpRoutes, previous.resources.httpRoutes),
    yield* firstReasons(reasons),
    writing,
  )
  // Objects of a cluster keep their names, so none of them is a renamed policy.
  const renamed = reasons.some(({ source }) => source !== KUBERNETES) ? reasons : []
  const gone = yield* doubtful(
    onlyIn(previous.resources.proxyPolicies, proxyPolicies),
    yield* firstReasons(renamed),
    writing,
  )
  const isHeld = new Set(held.map(({ resource }) => resource))
  yield
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
      ...(yield* mapEach(held, ({ resource, doubt }) => problemOf(resource, doubt.held))),
      ...(yield* mapEach(gone, ({ resource, doubt }) => ({
        ...problemOf(resource, doubt.kept),
        stays: true as const,
      }))),
    ],
    ...(state.notes !== undefined && { notes: state.notes }),
    complete: true,
  }
}

/** Returns the resources whose key is not among the others. */
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
  /** Messages for a new route (held) and for a policy that is gone (kept). */
  readonly doubt: { readonly held: string; readonly kept: string }
}

/** The first broken document that may be a policy of any route, and of those of each namespace. */
interface FirstReasons {
  readonly ofAny: Ranked<Problem> | undefined
  readonly ofNamespace: ReadonlyMap<string, Ranked<Problem>>
  readonly all: readonly Problem[]
}

/** The first file with policies, and the first with each route. */
interface FirstFiles {
  readonly withPolicies: Ranked<Unsettled> | undefined
  readonly withRoute: ReadonlyMap<string, Ranked<Unsettled>>
}

/** A cause of doubt, with its position among all. */
interface Ranked<Cause> {
  readonly rank: number
  readonly cause: Cause
}

/** In a cluster, a policy applies to routes and Gateways of its own namespace; if that is unknown, it may be any. */
function* firstReasons(reasons: readonly Problem[]): Work<FirstReasons> {
  let ofAny: Ranked<Problem> | undefined
  const ofNamespace = new Map<string, Ranked<Problem>>()
  yield* each(reasons.entries(), ([rank, cause]) => {
    const { source, namespace } = cause
    if (source !== KUBERNETES || namespace === undefined) ofAny ??= { rank, cause }
    else if (!ofNamespace.has(namespace)) ofNamespace.set(namespace, { rank, cause })
  })
  return { ofAny, ofNamespace, all: reasons }
}

function* firstOfEach(unsettled: readonly Unsettled[]): Work<FirstFiles> {
  let withPolicies: Ranked<Unsettled> | undefined
  const withRoute = new Map<string, Ranked<Unsettled>>()
  yield* each(unsettled.entries(), ([rank, cause]) => {
    if (cause.hasPolicies) withPolicies ??= { rank, cause }
    for (const key of cause.routes) if (!withRoute.has(key)) withRoute.set(key, { rank, cause })
  })
  return { withPolicies, withRoute }
}

function firstOf<Cause>(...all: readonly (Ranked<Cause> | undefined)[]): Cause | undefined {
  let first: Ranked<Cause> | undefined
  for (const one of all)
    if (one !== undefined && (first === undefined || one.rank < first.rank)) first = one
  return first?.cause
}

/** Returns the doubt about each resource that a document concerns: that of the first one. */
function* doubtful<Spec>(
  resources: readonly Resource<Spec>[],
  reasons: FirstReasons,
  files: FirstFiles,
): Work<readonly Doubt<Spec>[]> {
  const doubts = yield* mapEach(resources, (resource) => doubtAbout(resource, reasons, files))
  return doubts.flatMap((doubt) => doubt ?? [])
}

function doubtAbout<Spec>(
  resource: Resource<Spec>,
  { ofAny, ofNamespace, all }: FirstReasons,
  { withPolicies, withRoute }: FirstFiles,
): Doubt<Spec> | undefined {
  const namespaces = policyNamespaces(resource)
  const reason =
    namespaces === undefined
      ? all[0]
      : firstOf(ofAny, ...namespaces.map((namespace) => ofNamespace.get(namespace)))
  if (reason !== undefined)
    return { resource, doubt: { held: heldMessage(reason, resource), kept: keptMessage(reason) } }
  const writing = firstOf(withPolicies, withRoute.get(resourceKeyOf(resource)))
  if (writing === undefined) return undefined
  const held = `waits ${writing.until}: it may hold the policy of this route`
  const kept = `was removed from the files, but stays in force ${writing.until}: it may move there`
  return { resource, doubt: { held, kept } }
}

/**
 * Returns the namespaces where a cluster policy for the resource may be: its own and those of its Gateways. undefined:
 * any, as only a ListenerSet names its Gateway.
 */
function policyNamespaces({
  kind,
  metadata,
  spec,
}: Resource<unknown>): readonly string[] | undefined {
  const parents = kind === 'HTTPRoute' ? (spec as HttpRouteSpec).parentRefs : []
  if (parents.some((parent) => parent.kind === 'ListenerSet')) return undefined
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
  `was removed from the files, but stays in force until the document at ${source} can be decoded or is removed too: it may be this policy`

function heldMessage(
  { source, namespace, name }: Problem,
  { metadata }: Resource<unknown>,
): string {
  if (source === KUBERNETES && name === undefined)
    return 'waits until ProxyPolicies can be read again: one of them may be the policy of this route'
  // Its status must not reveal the name to a tenant (decision 29c).
  return source === KUBERNETES && namespace !== metadata.namespace
    ? 'waits until a ProxyPolicy of another namespace can be decoded: it may be the policy of this route'
    : `waits until ${name === undefined ? 'the document' : `ProxyPolicy ${name}`} at ${source} can be decoded: it may be the policy of this route`
}

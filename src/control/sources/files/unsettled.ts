// Decides what is in force of a file that is written in place, until it has been quiet for a while: an unfinished write
// may lack a policy, or a policy's last rules.

import { isDeepStrictEqual } from 'node:util'
import { each, type Work } from '../../../kit/turns.js'
import type { DecodedResource } from '../../schema/decode/decode.js'
import type { Unsettled } from '../../schema/decode/quarantine.js'
import { resourceKeyOf } from '../../schema/decode/resource-set.js'
import type { ProxyPolicySpec } from '../../schema/kinds/proxy-policy.js'
import type { Problem, Resource, Resources } from '../../schema/kinds/resources.js'
import type { FileRecord } from './file-record.js'

/** How long a file must stay unwritten to count as quiet, in milliseconds. */
export const QUIET_MS = 2_000

/** Kinds that can open access when added, removed or incomplete. Changes of other kinds apply immediately. */
const WAIT = new Set([
  'ProxyPolicy',
  'ProxyParameters',
  'BackendTLSPolicy',
  'ReferenceGrant',
  'HTTPRoute',
  'Gateway',
  'GatewayClass',
  'ListenerSet',
])

/** A file with its content before and after the change. */
export interface Changing {
  /** Path of the file, for messages. */
  readonly path: string
  /** As Writing.since. */
  readonly since: number
  readonly before: FileRecord
  readonly now: FileRecord
  /** The policies in force from all files. */
  readonly policies: PoliciesInForce
}

/** What the policies in force close, which decides whether a new policy can open access. */
export interface PoliciesInForce {
  /** Whether a route without a policy may deny every request: half a policy would then admit more than the whole. */
  readonly areRequired: boolean
  /** Target → keys of its policies. */
  readonly byTarget: ReadonlyMap<string, readonly string[]>
  /** Keys of the policies that target more than routes and Services. */
  readonly onGateways: readonly string[]
}

/** No policy is in force. */
export const NO_POLICIES: PoliciesInForce = {
  areRequired: false,
  byTarget: new Map(),
  onGateways: [],
}

/** Kinds that decide whether a route is closed. */
type Closing = Pick<Resources, 'proxyPolicies' | 'proxyParameters' | 'gateways' | 'gatewayClasses'>

/** Indexes the policies in force once, for all files that are written in place. */
export class IndexedPolicies {
  #last: { readonly resources: Closing | undefined; readonly policies: PoliciesInForce } | undefined

  constructor(private readonly requirePolicy: boolean) {}

  /** resources: undefined if none are in force yet. */
  *of(resources: Closing | undefined): Work<PoliciesInForce> {
    const last = this.#last
    if (last !== undefined && last.resources === resources) return last.policies
    const policies = yield* policiesInForce(resources, this.requirePolicy)
    this.#last = { resources, policies }
    return policies
  }
}

function* policiesInForce(
  resources: Closing | undefined,
  requirePolicy: boolean,
): Work<PoliciesInForce> {
  const byTarget = new Map<string, string[]>()
  const onGateways: string[] = []
  yield* each(resources?.proxyPolicies ?? [], (policy) => {
    const key = resourceKeyOf(policy)
    if (isOnGateway(policy)) onGateways.push(key)
    for (const target of targetsOf(policy)) {
      const keys = byTarget.get(target)
      if (keys === undefined) byTarget.set(target, [key])
      else keys.push(key)
    }
  })
  const areRequired = requirePolicy || (resources !== undefined && mayRequirePolicy(resources))
  return { areRequired, byTarget, onGateways }
}

/** Returns the record that the translation uses meanwhile. Its documents are the current ones. */
export function inForceOf({ before, now, policies, ...file }: Changing): FileRecord {
  const old = byKey(before)
  const current = byKey(now)
  // A policy that is new in this file does not count.
  const counts = (keys: readonly string[] = []): boolean =>
    keys.some((key) => old.has(key) || !current.has(key))
  // A route's own policy may admit clients that the defaults of a Gateway do not.
  const isClosed = policies.areRequired || counts(policies.onGateways)
  const isGuarded = (target: string): boolean => counts(policies.byTarget.get(target))
  const resources: DecodedResource[] = []
  const problems: Problem[] = []
  for (const [key, found] of current) {
    const known = old.get(key)
    if (!waits(found) || isSame(found, known)) resources.push(found)
    // holdBackNewRoutes withholds it.
    else if (found.resource.kind === 'HTTPRoute' && known === undefined) resources.push(found)
    else if (known !== undefined) {
      resources.push(known)
      problems.push(problemOf(found, `the version before stays in force ${until(file)}`, true))
    } else if (!isClosed && closes(found, isGuarded)) resources.push(found)
    else problems.push(problemOf(found, `waits ${until(file)}`))
  }
  for (const [key, gone] of old) {
    if (!waits(gone) || current.has(key)) continue
    resources.push(gone)
    problems.push(problemOf(gone, `is gone from the file, but stays in force ${until(file)}`, true))
  }
  return { ...now, resources, problems: [...now.problems, ...problems] }
}

/** Returns what new routes and removed policies must wait for; undefined if nothing in the file can open access. */
export function doubtOf({
  before,
  now,
  ...file
}: Omit<Changing, 'policies'>): Unsettled | undefined {
  const all = [...before.resources, ...now.resources]
  const routes = now.resources.filter(({ resource }) => resource.kind === 'HTTPRoute')
  if (!all.some(waits)) return undefined
  return {
    until: until(file),
    hasPolicies: all.some(({ resource }) => resource.kind === 'ProxyPolicy'),
    routes: new Set(routes.map(({ resource }) => resourceKeyOf(resource))),
  }
}

const until = ({ path, since }: Pick<Changing, 'path' | 'since'>): string =>
  since === Infinity
    ? `until ${path} is written again: its disk was full, so it may be cut short`
    : `until ${path} has not been written to for ${QUIET_MS / 1000} s`

const byKey = ({ resources }: FileRecord): ReadonlyMap<string, DecodedResource> =>
  new Map(resources.map((each) => [resourceKeyOf(each.resource), each]))

const waits = ({ resource }: DecodedResource): boolean => WAIT.has(resource.kind)

const isSame = ({ resource }: DecodedResource, known: DecodedResource | undefined): boolean =>
  known !== undefined &&
  isDeepStrictEqual(resource.spec, known.resource.spec) &&
  isDeepStrictEqual(resource.metadata, known.resource.metadata)

/** Whether parameters of a Gateway or a class require a policy, or cannot be read. */
function mayRequirePolicy({ gatewayClasses, gateways, proxyParameters }: Closing): boolean {
  const refs = [
    ...gatewayClasses.flatMap(({ spec }) => spec.parametersRef ?? []),
    ...gateways.flatMap(({ spec, metadata: { namespace } }) => {
      const ref = spec.infrastructure?.parametersRef
      return ref === undefined ? [] : [{ ...ref, namespace }]
    }),
  ]
  return refs.some(({ name, namespace = 'default' }) => {
    const named = proxyParameters.find(
      ({ metadata }) => metadata.name === name && metadata.namespace === namespace,
    )
    return named === undefined || named.spec.requirePolicy === true
  })
}

const isOnGateway = ({ spec }: Resource<ProxyPolicySpec>): boolean =>
  spec.targetRefs.some(({ kind }) => !OTHERS.has(kind))

const OTHERS: ReadonlySet<string> = new Set(['HTTPRoute', 'Service', 'ProxyBackend'])

/**
 * Whether the policy can only restrict access: it targets no Gateway, and nothing it targets has a policy yet. Next to
 * another policy of the route or its Gateway it might admit more.
 */
const closes = ({ resource }: DecodedResource, isGuarded: (target: string) => boolean): boolean =>
  resource.kind === 'ProxyPolicy' &&
  !isOnGateway(resource as Resource<ProxyPolicySpec>) &&
  !targetsOf(resource as Resource<ProxyPolicySpec>).some(isGuarded)

const targetsOf = ({ spec, metadata }: Resource<ProxyPolicySpec>): readonly string[] =>
  spec.targetRefs.map(({ kind, name }) => `${kind}/${metadata.namespace}/${name}`)

const problemOf = (
  { resource: { apiVersion, kind, metadata }, position }: DecodedResource,
  message: string,
  stays = false,
): Problem => ({
  source: position,
  message,
  apiVersion,
  kind,
  namespace: metadata.namespace,
  name: metadata.name,
  ...(stays && { stays: true as const }),
})

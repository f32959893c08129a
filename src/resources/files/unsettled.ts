// Decides what is in force of a file that is written in place, until it has been quiet for a while: an unfinished write
// may lack a policy, or a policy's last rules.

import { isDeepStrictEqual } from 'node:util'
import type { DecodedResource } from '../decode/decode.js'
import type { Unsettled } from '../decode/quarantine.js'
import { resourceKeyOf } from '../decode/resource-set.js'
import type { ProxyPolicySpec } from '../kinds/proxy-policy.js'
import type { Problem, Resource, Resources } from '../kinds/resources.js'
import type { FileRecord } from './file-record.js'

/** How long a file must stay unwritten to count as quiet, in milliseconds. */
export const QUIET_MS = 2_000

/** Kinds that can open access when added, removed or incomplete. Changes of other kinds apply immediately. */
const WAIT = new Set([
  ...['ProxyPolicy', 'ProxyParameters', 'BackendTLSPolicy', 'ReferenceGrant'],
  ...['HTTPRoute', 'Gateway', 'GatewayClass', 'ListenerSet'],
])

/** A file with its content before and after the change. */
export interface Changing {
  /** Path of the file, for messages. */
  readonly path: string
  readonly before: FileRecord
  readonly now: FileRecord
  readonly others: Others
}

/** The resources in force from all files, which decide whether a new policy can open access. */
export interface Others extends Pick<
  Resources,
  'proxyPolicies' | 'proxyParameters' | 'gateways' | 'gatewayClasses'
> {
  /** Whether the setting closes routes without a policy. */
  readonly requirePolicy: boolean
}

/** Completes the resources in force; undefined means that none are in force yet. */
export const othersIn = (
  resources: Omit<Others, 'requirePolicy'> | undefined,
  requirePolicy = false,
): Others => ({
  ...{ proxyPolicies: [], proxyParameters: [], gateways: [], gatewayClasses: [] },
  ...resources,
  requirePolicy,
})

/** Returns the record that the translation uses meanwhile. Its documents are the current ones. */
export function inForceOf({ path, before, now, others }: Changing): FileRecord {
  const old = byKey(before)
  const current = byKey(now)
  const policies = others.proxyPolicies.filter(
    (policy) => old.has(resourceKeyOf(policy)) || !current.has(resourceKeyOf(policy)),
  )
  const guarded = new Set(policies.flatMap(targetsOf))
  // A route's own policy may admit clients that the defaults of a Gateway do not.
  const isClosed = isClosedWithoutPolicy(others) || policies.some(isOnGateway)
  const resources: DecodedResource[] = []
  const problems: Problem[] = []
  for (const [key, found] of current) {
    const known = old.get(key)
    if (!waits(found) || isSame(found, known)) resources.push(found)
    // holdBackNewRoutes withholds it.
    else if (found.resource.kind === 'HTTPRoute' && known === undefined) resources.push(found)
    else if (known !== undefined) {
      resources.push(known)
      problems.push(problemOf(found, `the version before stays in force ${until(path)}`, true))
    } else if (!isClosed && closes(found, guarded)) resources.push(found)
    else problems.push(problemOf(found, `waits ${until(path)}`))
  }
  for (const [key, gone] of old) {
    if (!waits(gone) || current.has(key)) continue
    resources.push(gone)
    problems.push(problemOf(gone, `is gone from the file, but stays in force ${until(path)}`, true))
  }
  return { ...now, resources, problems: [...now.problems, ...problems] }
}

/** Returns what new routes and removed policies must wait for; undefined if nothing in the file can open access. */
export function doubtOf({ path, before, now }: Omit<Changing, 'others'>): Unsettled | undefined {
  const all = [...before.resources, ...now.resources]
  const routes = now.resources.filter(({ resource }) => resource.kind === 'HTTPRoute')
  if (!all.some(waits)) return undefined
  return {
    until: until(path),
    hasPolicies: all.some(({ resource }) => resource.kind === 'ProxyPolicy'),
    routes: new Set(routes.map(({ resource }) => resourceKeyOf(resource))),
  }
}

const until = (path: string): string =>
  `until ${path} has not been written to for ${QUIET_MS / 1000} s`

const byKey = ({ resources }: FileRecord): ReadonlyMap<string, DecodedResource> =>
  new Map(resources.map((each) => [resourceKeyOf(each.resource), each]))

const waits = ({ resource }: DecodedResource): boolean => WAIT.has(resource.kind)

const isSame = ({ resource }: DecodedResource, known: DecodedResource | undefined): boolean =>
  known !== undefined &&
  isDeepStrictEqual(resource.spec, known.resource.spec) &&
  isDeepStrictEqual(resource.metadata, known.resource.metadata)

/** Whether a route without a policy may deny every request: half a policy would then admit more than the whole. */
function isClosedWithoutPolicy({ requirePolicy, ...others }: Others): boolean {
  if (requirePolicy) return true
  const refs = [
    ...others.gatewayClasses.flatMap(({ spec }) => spec.parametersRef ?? []),
    ...others.gateways.flatMap(({ spec, metadata: { namespace } }) => {
      const ref = spec.infrastructure?.parametersRef
      return ref === undefined ? [] : [{ ...ref, namespace }]
    }),
  ]
  return refs.some(({ name, namespace = 'default' }) => {
    const named = others.proxyParameters.find(
      ({ metadata }) => metadata.name === name && metadata.namespace === namespace,
    )
    return named === undefined || named.spec.requirePolicy === true
  })
}

const isOnGateway = ({ spec }: Resource<ProxyPolicySpec>): boolean =>
  spec.targetRefs.some(({ kind }) => kind !== 'HTTPRoute' && kind !== 'Service')

/**
 * Whether the policy can only restrict access: it targets no Gateway, and nothing it targets has a policy yet. Next to
 * another policy of the route or its Gateway it might admit more.
 */
const closes = ({ resource }: DecodedResource, guarded: ReadonlySet<string>): boolean =>
  resource.kind === 'ProxyPolicy' &&
  !isOnGateway(resource as Resource<ProxyPolicySpec>) &&
  !targetsOf(resource as Resource<ProxyPolicySpec>).some((target) => guarded.has(target))

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

// What a file holds now and what it held before it was written to in place → what of it is in force until it has been
// quiet for a while. A writer that is not done has cut it anywhere: a policy may still come, or have lost its last rules.

import { isDeepStrictEqual } from 'node:util'
import type { DecodedResource } from '../decode/decode.js'
import type { Unsettled } from '../decode/quarantine.js'
import { resourceKeyOf } from '../decode/resource-set.js'
import type { ProxyPolicySpec } from '../kinds/proxy-policy.js'
import type { Problem, Resource, Resources } from '../kinds/resources.js'
import type { FileRecord } from './file-record.js'

/** How long a file must not have been written to. */
export const QUIET_MS = 2_000

/** Kinds that can open something, be it by coming, by going or by a part that is missing. The others change at once. */
const WAIT = new Set([
  ...['ProxyPolicy', 'ProxyParameters', 'BackendTLSPolicy', 'ReferenceGrant'],
  ...['HTTPRoute', 'Gateway', 'GatewayClass'],
])

export interface Changing {
  /** For messages. */
  readonly path: string
  readonly before: FileRecord
  readonly now: FileRecord
  readonly others: Others
}

/** What of all files is in force, and says whether a policy that is new can open anything. */
export interface Others extends Pick<
  Resources,
  'proxyPolicies' | 'proxyParameters' | 'gateways' | 'gatewayClasses'
> {
  /** The setting: a route without a policy is closed. */
  readonly requirePolicy: boolean
}

/** resources: in force; absent: there are none yet. */
export const othersIn = (
  resources: Omit<Others, 'requirePolicy'> | undefined,
  requirePolicy = false,
): Others => ({
  ...{ proxyPolicies: [], proxyParameters: [], gateways: [], gatewayClasses: [] },
  ...resources,
  requirePolicy,
})

/** As far as translation is concerned; its documents are those of now. */
export function inForceOf({ path, before, now, others }: Changing): FileRecord {
  const old = byKey(before)
  const current = byKey(now)
  const policies = others.proxyPolicies.filter(
    (policy) => old.has(resourceKeyOf(policy)) || !current.has(resourceKeyOf(policy)),
  )
  const guarded = new Set(policies.flatMap(targetsOf))
  // Beside the defaults of a Gateway, a route's own policy may let in whom those do not.
  const isClosed = isClosedWithoutPolicy(others) || policies.some(isOnGateway)
  const resources: DecodedResource[] = []
  const problems: Problem[] = []
  for (const [key, found] of current) {
    const known = old.get(key)
    if (!waits(found) || isSame(found, known)) resources.push(found)
    // holdBackNewRoutes has them wait.
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

/** undefined: nothing of the file can open anything. */
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

/** A route that has no policy may refuse everybody: half of its policy would then let in whom the whole does not. */
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

/** A policy of what no policy is on. Beside another one it may let in whom that one does not, be it of a route or its Gateway. */
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

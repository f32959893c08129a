// Decides for each ProxyPolicy whether the mesh enforces it. Pure: reads what was applied, what the mesh says about it, and
// what probes have proven.

import type { KeeperState } from '../../../control/sources/kubernetes/object-keeper.js'
import { objectName, type WantedObject } from '../../../control/sources/kubernetes/wanted-object.js'
import type { Work } from '../../../kit/turns.js'
import type { JsonObject } from '../../../model/json.js'
import type { MeshRoute, PolicyName } from '../../../model/mesh-route.js'
import type { GatewayName } from '../../../model/status.js'
import { memberOf, objectsOf, textOf } from './json-members.js'
import type { OpenPaths } from './open-paths.js'
import type { ProbeTarget, RouteProbes } from './probe-targets.js'
import { NOT_PROBED_YET } from './prober.js'
import { suspectsOf, type SuspectSources } from './suspects.js'
import type { RouteNeeds, Wanted } from './wanted.js'

/** Whether a ProxyPolicy is enforced, as its condition says it. */
export interface Enforcement {
  readonly policy: PolicyName
  readonly isEnforced: boolean
  readonly reason: EnforcementReason
  readonly message: string
  /** Set while nothing but first probes is missing: nobody knows yet. */
  readonly isPending?: true
}

/** The reasons of the condition Enforced. */
export type EnforcementReason =
  'Enforced' | 'NotSupported' | 'NotApplied' | 'NotAccepted' | 'Bypassed' | 'NotProven'

/** What decides whether a policy is enforced. */
export interface EnforcementSources extends SuspectSources {
  /** Returns an object of the mesh as last received, by its key. */
  objectOf(key: string): JsonObject | undefined
  /** Returns the probes of a route. */
  probesOf(route: MeshRoute): RouteProbes
  /** As Prober.problemOf. */
  probeProblem(target: ProbeTarget): string | undefined
  /** Absent: not known yet. */
  readonly openPaths?: OpenPaths | undefined
}

/** A problem of one route. */
interface Finding {
  readonly reason: Exclude<EnforcementReason, 'Enforced'>
  readonly message: string
  readonly isPending?: true
}

/** Returns the enforcement by NAMESPACE/NAME of each policy, unless its routes are only audited, and can be. */
export function* enforcementWork(
  { wanted, problems }: KeeperState<Wanted>,
  sources: EnforcementSources,
): Work<ReadonlyMap<string, Enforcement>> {
  const findings = new Map<string, PolicyFindings>()
  for (const needs of wanted.routes) {
    if (isOnlyAudited(needs)) continue
    const found = yield* findingOf(needs, problems, sources)
    for (const policy of needs.route.policies) {
      const key = `${policy.namespace}/${policy.name}`
      const own = findings.get(key) ?? { policy, found: [] }
      if (found !== undefined) own.found.push(seenFrom(policy, needs.route, found))
      findings.set(key, own)
    }
    yield
  }
  return new Map([...findings].map(([key, own]) => [key, enforcementOf(own)]))
}

/** Returns the finding as the policy says it: without names of another namespace. */
const seenFrom = (policy: PolicyName, route: MeshRoute, found: Finding): Finding =>
  policy.namespace === route.namespace
    ? found
    : { ...found, message: `An HTTPRoute of another namespace: ${OF_OTHERS[found.reason]}` }

const OF_OTHERS: Readonly<Record<Finding['reason'], string>> = {
  NotSupported: 'the mesh cannot enforce the policy on it',
  NotApplied: 'what the mesh needs for it cannot be applied',
  NotAccepted: 'what the mesh needs for it is not in force',
  Bypassed: 'another HTTPRoute, which has no policy, takes requests of it',
  NotProven: 'nothing proves that the mesh enforces the policy on it',
}

/** A policy, and what keeps its routes from being protected. */
interface PolicyFindings {
  readonly policy: PolicyName
  readonly found: Finding[]
}

/** Whether all is well with a route that no policy may deny. One that cannot be exported is not audited at all. */
const isOnlyAudited = ({ route, problems }: RouteNeeds): boolean =>
  problems.length === 0 && route.authz?.isAudited === true && !route.isGuarded

/** Findings in a message. */
const MOST = 3

function enforcementOf({ policy, found }: PolicyFindings): Enforcement {
  const [first] = found
  if (first === undefined) {
    const message = 'The mesh enforces it on all routes'
    return { policy, isEnforced: true, reason: 'Enforced', message }
  }
  const lines = found.slice(0, MOST).map(({ message }) => message)
  const more = found.length - lines.length
  return {
    policy,
    isEnforced: false,
    reason: first.reason,
    message: [...lines, ...(more > 0 ? [`${more} more routes`] : [])].join('\n'),
    ...(found.every(({ isPending }) => isPending === true) && { isPending: true as const }),
  }
}

function* findingOf(
  needs: RouteNeeds,
  problems: ReadonlyMap<string, string>,
  sources: EnforcementSources,
): Work<Finding | undefined> {
  const { route } = needs
  const name = `HTTPRoute ${route.namespace}/${route.name}`
  const [unsupported] = needs.problems
  if (unsupported !== undefined)
    return { reason: 'NotSupported', message: `${unsupported}${consequenceOf(needs)}` }
  const [unapplied] = needs.needs.flatMap(({ key }) => problems.get(key) ?? [])
  if (unapplied !== undefined) return { reason: 'NotApplied', message: unapplied }
  const [unaccepted] = needs.needs.flatMap(
    (each) => notAccepted(each, route.gateways, sources) ?? [],
  )
  if (unaccepted !== undefined) return { reason: 'NotAccepted', message: unaccepted }
  const bypass = sources.openPaths && (yield* sources.openPaths.below(route))
  if (bypass !== undefined) return { reason: 'Bypassed', message: `${name}: ${bypass}` }
  const unproven = notProven(needs, sources)
  return unproven === undefined
    ? undefined
    : {
        reason: 'NotProven',
        message: `${name}: ${unproven}`,
        ...(unproven.startsWith(NOT_PROBED_YET) && { isPending: true as const }),
      }
}

const consequenceOf = ({ route, needs }: RouteNeeds): string =>
  needs.length > 0
    ? '; it answers 503'
    : route.authz?.isAudited === true
      ? '; its requests are not audited'
      : ''

function notAccepted(
  wanted: WantedObject,
  gateways: readonly GatewayName[],
  sources: EnforcementSources,
): string | undefined {
  const { kind } = wanted.manifest
  const object = sources.objectOf(wanted.key)
  const what = objectName(wanted)
  if (object === undefined) return `${what} is not there`
  const problem = acceptanceProblem(kind, object, gateways)
  if (problem === undefined) return undefined
  // EnvoyFilters of one Gateway complete each other.
  const rivals = kind === 'EnvoyFilter' ? [] : rivalsOf(kind, object, sources.ofKind(kind))
  const beside = rivals.length === 0 ? '' : ` (beside it: ${rivals.join(', ')})`
  return `${what} is not in force: ${problem}${beside}`
}

function notProven({ route }: RouteNeeds, sources: EnforcementSources): string | undefined {
  const { targets, needed } = sources.probesOf(route)
  if (needed > targets.length)
    return `no probe is sent: its matches, host names, listeners and addresses need ${needed} probes, which is too many for one minute`
  const missed = route.gateways.find(
    ({ namespace, name }) =>
      !targets.some(({ gateway }) => gateway.namespace === namespace && gateway.name === name),
  )
  if (missed !== undefined)
    return `no probe can be sent: Gateway ${missed.namespace}/${missed.name} has no address in its status, or no match of the route is known to match a request`
  const problems = targets.flatMap((target) => sources.probeProblem(target) ?? [])
  const problem = problems.find((one) => one !== NOT_PROBED_YET) ?? problems[0]
  if (problem === undefined) return undefined
  const suspects = suspectsOf(route, sources)
  return suspects.length === 0 ? problem : `${problem} (at its Gateways: ${suspects.join(', ')})`
}

// Reads from an object's status whether the mesh has accepted it, and finds who else claims its target. Pure.

/** Kinds with a status for each Gateway, and where it is. */
const BY_GATEWAY: ReadonlyMap<string, readonly [list: string, ref: string]> = new Map([
  ['SecurityPolicy', ['ancestors', 'ancestorRef']],
  ['EnvoyExtensionPolicy', ['ancestors', 'ancestorRef']],
  ['BackendTrafficPolicy', ['ancestors', 'ancestorRef']],
  ['ClientTrafficPolicy', ['ancestors', 'ancestorRef']],
  ['HTTPRoute', ['parents', 'parentRef']],
])

/** Conditions that are bad when True. */
const BAD = new Set(['Overridden', 'Conflicted'])

/**
 * Returns why the mesh has not accepted the object for all of the Gateways; undefined: it has.
 * @param object as received.
 */
export function acceptanceProblem(
  kind: string,
  object: JsonObject,
  gateways: readonly GatewayName[],
): string | undefined {
  const status = memberOf(object, 'status')
  const place = BY_GATEWAY.get(kind)
  if (kind === 'Backend') return ofConditions(object, status)
  if (kind === 'BackendTLSPolicy') return ofAncestors(object, status)
  if (kind === 'EnvoyFilter') return ofMessages(object, status)
  if (place === undefined) return undefined
  const [list, ref] = place
  const targets = kind === 'ClientTrafficPolicy' ? gateways.filter(isTarget(object)) : gateways
  return targets
    .map((gateway) => {
      const entries = objectsOf(status, list).filter((entry) =>
        isOf(memberOf(entry, ref), gateway, textOf(memberOf(object, 'metadata')['namespace'])),
      )
      if (entries.length === 0) return `not accepted yet for Gateway ${nameOf(gateway)}`
      return entries.map((entry) => ofConditions(object, entry)).find((one) => one !== undefined)
    })
    .find((problem) => problem !== undefined)
}

const isTarget =
  (object: JsonObject) =>
  ({ name }: GatewayName): boolean =>
    targetsOf(object).some((target) => target['name'] === name)

const isOf = (ref: JsonObject, gateway: GatewayName, namespace: string | undefined): boolean =>
  ref['name'] === gateway.name &&
  (textOf(ref['namespace']) ?? namespace ?? 'default') === gateway.namespace

const nameOf = ({ namespace, name }: GatewayName): string => `${namespace}/${name}`

/** A mesh may name the policies that use it instead of their Gateways, or nothing, so that the probes decide. */
const ofAncestors = (object: JsonObject, status: JsonObject): string | undefined =>
  objectsOf(status, 'ancestors')
    .map((entry) => ofConditions(object, entry))
    .find((problem) => problem !== undefined)

/** Only conditions about the current generation count. */
function ofConditions(object: JsonObject, holder: JsonObject): string | undefined {
  const { generation } = memberOf(object, 'metadata')
  const conditions = objectsOf(holder, 'conditions')
  const accepted = conditions.find(({ type }) => type === 'Accepted')
  const bad = conditions.find(
    ({ type, status }) => BAD.has(textOf(type) ?? '') && status === 'True',
  )
  const said = bad ?? accepted
  if (said === undefined) return 'not accepted yet'
  if (bad === undefined && accepted?.['status'] === 'True')
    return Number(accepted['observedGeneration'] ?? generation) < Number(generation)
      ? 'its latest version is not accepted yet'
      : undefined
  const { type, reason, message } = said
  const word = bad === undefined ? textOf(reason) : textOf(type)
  return `${word ?? 'not accepted'}: ${textOf(message) ?? ''}`
}

/**
 * Reads what istiod's analysis has found in the current generation. Warnings are about EnvoyFilters that work, too; an
 * istiod without the analysis reports nothing.
 */
function ofMessages(object: JsonObject, status: JsonObject): string | undefined {
  const { generation } = memberOf(object, 'metadata')
  if (Number(status['observedGeneration'] ?? generation) < Number(generation)) return undefined
  const found = objectsOf(status, 'validationMessages').find(({ level }) => level === 'ERROR')
  if (found === undefined) return undefined
  const code = textOf(memberOf(found, 'type')['code']) ?? 'an error'
  const page = textOf(found['documentationUrl'])
  return `istiod reports ${code}${page === undefined ? '' : ` (${page})`}`
}

function targetsOf(object: JsonObject): readonly JsonObject[] {
  const spec = memberOf(object, 'spec')
  return [...objectsOf(spec, 'targetRefs'), memberOf(spec, 'targetRef')]
}

/** Returns KIND NAMESPACE/NAME of the other objects of a kind that name the same target. */
export function rivalsOf(
  kind: string,
  object: JsonObject,
  all: Iterable<readonly [key: string, object: JsonObject]>,
): readonly string[] {
  const own = memberOf(object, 'metadata')
  const targets = new Set(targetKeys(object))
  return [...all].flatMap(([, other]) => {
    const metadata = memberOf(other, 'metadata')
    if (metadata['namespace'] !== own['namespace'] || metadata['uid'] === own['uid']) return []
    const name = `${textOf(metadata['namespace']) ?? ''}/${textOf(metadata['name']) ?? ''}`
    return targetKeys(other).some((key) => targets.has(key)) ? [`${kind} ${name}`] : []
  })
}

const targetKeys = (object: JsonObject): readonly string[] =>
  targetsOf(object).flatMap(({ kind, name }) => {
    const [of, target] = [textOf(kind), textOf(name)]
    return of === undefined || target === undefined ? [] : [`${of}/${target}`]
  })

// Builds the status of a ProxyPolicy: always both Accepted and Attached, for each Gateway that its targets are attached
// to (decisions 25-29).

import { AUDIT, type Condition, type GatewayName, type ResourceStatus } from '../../ir/status.js'
import { translateGateway } from '../listeners/gateways.js'
import { gatewayOf, listenersOfSet } from '../listeners/listener-set-status.js'
import { setPermission } from '../listeners/listener-sets.js'
import { isOfSet, type TranslatedListener } from '../listeners/listeners.js'
import { type Attachment, attachPolicies, fieldConflicts } from '../policies/attachments.js'
import { isAudited } from '../policies/audit.js'
import { targetedSections } from '../policies/inheritance.js'
import {
  isGatewayTarget,
  isListenerSetTarget,
  isRouteTarget,
  isServiceTarget,
  type ProxyPolicy,
  type TranslatedPolicy,
  translatePolicy,
} from '../policies/policies.js'
import { type Heirs, type HeirsOfAll, NO_HEIRS } from '../routes/heirs.js'
import { type TranslatedRoute, translateRoute } from '../routes/routes.js'
import { about, isFalse, isTrue, statusOf } from '../world/conditions.js'
import { type Context, query } from '../world/context.js'
import { gatewayKey, keyIn, targetKey, uniqueGateways } from '../world/world.js'
import { type Findings, mcpFindings } from './mcp-findings.js'
import { type NamedKind, notFound } from './missing-target.js'
import type { Users } from './users.js'

/** Facts that are collected from all routes. */
export interface Uses {
  readonly users: Users
  heirs(): HeirsOfAll
}

type TargetRef = ProxyPolicy['spec']['targetRefs'][number]

interface TargetState {
  readonly gateways: readonly GatewayName[]
  /** Why the policy is not attached to the target. */
  readonly pending?: string
  /** The target does not exist. */
  readonly missing?: true
  /** Messages about lost conflicts, which name the winning policies (decision 25). */
  readonly conflict?: string
  readonly isGateway?: true
  /** The target, if it is an HTTPRoute that Gateways serve. */
  readonly route?: TranslatedRoute
}

/** Whether the policy targets nothing but HTTPRoutes. */
export const isOnRoutesAlone = ({ spec }: ProxyPolicy): boolean =>
  spec.targetRefs.every(isRouteTarget)

/** Builds the status of a ProxyPolicy. */
export function policyStatus(context: Context, policy: ProxyPolicy, uses: Uses): ResourceStatus {
  return isOnRoutesAlone(policy)
    ? query(context, 'policy-status', policy, (own) => buildStatus(own, policy, uses))
    : buildStatus(context, policy, uses)
}

function buildStatus(context: Context, policy: ProxyPolicy, uses: Uses): ResourceStatus {
  const translated = translatePolicy(context, policy)
  const states = policy.spec.targetRefs.map((ref) => targetState(context, policy, ref, uses))
  const gateways = uniqueGateways(states.flatMap((state) => state.gateways))
  const conflicts = states.flatMap(({ conflict }) => conflict ?? [])
  const found = mcpFindings(
    context,
    policy,
    states.flatMap(({ route }) => route ?? []),
  )
  const heirs = states.some(({ isGateway }) => isGateway)
    ? (uses.heirs().get(translated.key) ?? NO_HEIRS)
    : undefined
  const said = {
    ...found,
    warnings: [...found.warnings, ...(heirs?.faults ?? [])],
    notes: [
      ...found.notes,
      ...ownLines(states, translated.key),
      ...heirLines(heirs),
      ...documentLines(context, heirs),
    ],
  }
  const refused = acceptance(translated, conflicts, said)
  const accepted =
    refused.status === 'False' || found.faults.length === 0
      ? refused
      : isFalse('Accepted', 'Invalid', unique(found.faults))
  const attached =
    refused.status === 'False'
      ? isFalse('Attached', 'Pending', 'Policy is not attached due to invalid status')
      : attachment(
          context,
          translated,
          states,
          heirs?.inForce === 0 ? [] : (translated.jwt?.unavailable ?? []),
          heirs,
        )
  const conditions = [accepted, attached]
  return statusOf(
    policy,
    gateways.length === 0
      ? conditions
      : gateways.flatMap((ancestor) => about(conditions, { ancestor })),
  )
}

function acceptance(
  { problems, ...own }: ReturnType<typeof translatePolicy>,
  conflicts: readonly string[],
  found: Findings,
): Condition {
  const warnings = [...own.warnings, ...found.warnings]
  const notes = [...own.notes, ...found.notes]
  if (problems.length > 0) return isFalse('Accepted', 'Invalid', unique(problems))
  if (conflicts.length > 0) return isFalse('Accepted', 'Conflicted', unique(conflicts))
  return warnings.length > 0
    ? isTrue('Accepted', 'PartiallyValid', unique([...warnings, ...notes]))
    : isTrue('Accepted', 'Valid', unique(['Policy accepted', ...notes]))
}

function attachment(
  context: Context,
  translated: TranslatedPolicy,
  states: readonly TargetState[],
  unavailable: readonly string[],
  heirs: Heirs | undefined,
): Condition {
  const pending = states.flatMap((state) => state.pending ?? [])
  const reason = states.some(({ missing }) => missing) ? 'TargetNotFound' : 'Pending'
  if (pending.length > 0)
    return isFalse('Attached', reason, `Policy is not attached: ${unique(pending)}`)
  if (unavailable.length > 0) return isFalse('Attached', 'KeySetUnavailable', unique(unavailable))
  const isOverridden =
    heirs !== undefined &&
    heirs.inForce === 0 &&
    heirs.replaced > 0 &&
    states.every(({ isGateway }) => isGateway)
  if (isOverridden) return isTrue('Attached', 'Overridden', ALL_REPLACED)
  return isAudited(translated)
    ? isTrue('Attached', AUDIT, unique([ATTACHED, IN_AUDIT, ...notAudited(context, translated)]))
    : isTrue('Attached', 'Attached', ATTACHED)
}

const ATTACHED = 'Attached to all targets'
const IN_AUDIT =
  'Mode Audit: what the policy would refuse is logged and counted, and nothing is refused'

const KEYED_LIMITS = 'limits of traffic.rateLimit with a key'

const hasKeyedLimit = (traffic: TranslatedPolicy['policy']['spec']['traffic']): boolean =>
  traffic?.rateLimit?.local.some(({ key }) => key !== undefined) === true

/** Reports the fields that have no effect in mode Audit. */
function notAudited({ options }: Context, { policy }: TranslatedPolicy): readonly string[] {
  const { traffic, backend } = policy.spec
  const fields = [
    ...(options.mesh !== undefined && traffic?.rateLimit ? ['traffic.rateLimit'] : []),
    ...(options.mesh === undefined && hasKeyedLimit(traffic) ? [KEYED_LIMITS] : []),
    traffic?.transformation && 'traffic.transformation',
    traffic?.jwtAuthentication?.mcp && 'the documents of traffic.jwtAuthentication.mcp',
    backend?.http?.requestTimeout && 'backend.http.requestTimeout',
  ].filter((field) => typeof field === 'string')
  return fields.length === 0 ? [] : [`Not in force in mode Audit: ${fields.join(', ')}`]
}

const ALL_REPLACED = 'Replaced: all of it, on every HTTPRoute of its Gateways'

function heirLines(heirs: Heirs = NO_HEIRS): readonly string[] {
  const more = heirs.replaced - heirs.lines.length
  return more > 0 ? [...heirs.lines, `Replaced: on ${more} more HTTPRoutes`] : heirs.lines
}

/** Reports routes without the documents of a Gateway's mcp. In a mesh the documents have their own route. */
const documentLines = ({ options }: Context, heirs: Heirs = NO_HEIRS): readonly string[] =>
  options.mesh !== undefined || heirs.servesResource ? [] : heirs.undocumented

/** Reports the fields of a route's policy that replace those of its Gateways' policies. */
const ownLines = (states: readonly TargetState[], policy: string): readonly string[] =>
  states.flatMap(({ route }) =>
    (route?.scopes ?? []).flatMap(({ inherited }) =>
      inherited.flatMap((one) => {
        const fields = one.replaced.filter(({ by }) => by === policy).map(({ field }) => field)
        return fields.length === 0
          ? []
          : [
              `${one.isAudited ? 'Audited' : 'In force'}: ${fields.join(', ')} in place of ProxyPolicy ${one.policy} of the ${one.from}, on HTTPRoute ${route?.key ?? ''}`,
            ]
      }),
    ),
  )

const unique = (sentences: readonly string[]): string => [...new Set(sentences)].join('\n')

function targetState(
  context: Context,
  policy: ProxyPolicy,
  ref: TargetRef,
  uses: Uses,
): TargetState {
  const { namespace, name } = policy.metadata
  const target = targetKey(ref.group, ref.kind, namespace, ref.name)
  const key = keyIn(namespace, ref.name)
  const pending = (message: string): TargetState => ({ gateways: [], pending: message })
  const missing = (kind: NamedKind): TargetState => ({
    ...pending(notFound(context, kind, namespace, ref.name)),
    missing: true,
  })
  const self = keyIn(namespace, name)
  const lostIn = (attachments: readonly Pick<Attachment, 'conflicts'>[]) => {
    const conflicts = attachments.flatMap(({ conflicts: of }) => of.get(self) ?? [])
    return conflicts.length === 0 ? {} : { conflict: unique(conflicts) }
  }
  const lost = lostIn([attachPolicies(context, target)])
  if (isServiceTarget(ref))
    return context.reader.read('services', key) === undefined
      ? missing('Service')
      : { gateways: uses.users.of(target), ...lost }
  if (isGatewayTarget(ref)) return gatewayState(context, policy, ref)
  if (isListenerSetTarget(ref)) return listenerSetState(context, policy, ref)
  if (!isRouteTarget(ref)) return pending(`${ref.kind} ${key} is not known`)
  const httpRoute = context.reader.read('httpRoutes', key)
  if (httpRoute === undefined) return { ...missing('HTTPRoute'), ...lost }
  const route = translateRoute(context, httpRoute)
  if (route.gateways.length === 0)
    return { ...pending(`HTTPRoute ${key} is not attached to any Gateway`), ...lost }
  return { gateways: route.gateways, route, ...lostIn(route.scopes.map((one) => one.attachment)) }
}

function gatewayState(context: Context, policy: ProxyPolicy, ref: TargetRef): TargetState {
  const { namespace } = policy.metadata
  const gateway = { namespace, name: ref.name }
  const key = gatewayKey(gateway)
  const found = translateGateway(context, key)
  const none = { gateways: [], isGateway: true } as const
  if (found === undefined)
    return { ...none, pending: notFound(context, 'Gateway', namespace, ref.name), missing: true }
  if (found === 'foreign') return { ...none, pending: `Gateway ${key} is another controller's` }
  const own = found.listeners.filter(({ owner }) => !isOfSet(owner))
  return parentState(context, policy, ref, { gateway, kind: 'Gateway', listeners: own })
}

function listenerSetState(context: Context, policy: ProxyPolicy, ref: TargetRef): TargetState {
  const { namespace } = policy.metadata
  const key = keyIn(namespace, ref.name)
  const set = context.reader.read('listenerSets', key)
  const none = { gateways: [], isGateway: true } as const
  if (set === undefined)
    return {
      ...none,
      pending: notFound(context, 'ListenerSet', namespace, ref.name),
      missing: true,
    }
  const found = gatewayOf(context, set)
  if (found === undefined)
    return { ...none, pending: `ListenerSet ${key} has no Gateway of this controller` }
  if (!setPermission(context, found.gateway, set).isAllowed)
    return { ...none, pending: `ListenerSet ${key} is not allowed by Gateway ${found.key}` }
  const { metadata } = found.gateway
  return parentState(context, policy, ref, {
    gateway: { namespace: metadata.namespace, name: metadata.name },
    kind: 'ListenerSet',
    listeners: listenersOfSet(set, found.listeners),
  })
}

interface TargetedParent {
  readonly gateway: GatewayName
  readonly kind: 'Gateway' | 'ListenerSet'
  readonly listeners: readonly TranslatedListener[]
}

function parentState(
  context: Context,
  policy: ProxyPolicy,
  ref: TargetRef,
  { gateway, kind, listeners }: TargetedParent,
): TargetState {
  const { namespace, name } = policy.metadata
  const { sectionName = '' } = ref
  const target = targetKey(ref.group, kind, namespace, ref.name)
  const beside = (context.reader.read('policiesOn', target) ?? []).filter((one) =>
    targetedSections(one, kind, ref.name).has(sectionName),
  )
  const conflict = fieldConflicts(beside.map((one) => translatePolicy(context, one))).get(
    keyIn(namespace, name),
  )
  const isThere = sectionName === '' || listeners.some(({ spec }) => spec.name === sectionName)
  const missing = `${kind} ${keyIn(namespace, ref.name)} has no listener ${sectionName}`
  return {
    gateways: [gateway],
    isGateway: true,
    ...(conflict === undefined ? {} : { conflict }),
    ...(isThere ? {} : { pending: missing, missing: true }),
  }
}

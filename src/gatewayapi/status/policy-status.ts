// The status of a ProxyPolicy: Accepted and Attached, both always, for each Gateway that its targets are attached to (decisions 25-29).

import type { Condition, GatewayName, ResourceStatus } from '../../ir/status.js'
import { GATEWAY_API_GROUP } from '../../resources/kinds/fields.js'
import { translateGateway } from '../listeners/gateways.js'
import { attachPolicies } from '../policies/attachments.js'
import {
  isRouteTarget,
  isServiceTarget,
  type ProxyPolicy,
  translatePolicy,
} from '../policies/policies.js'
import { type TranslatedRoute, translateRoute } from '../routes/routes.js'
import { about, isFalse, isTrue, statusOf } from '../world/conditions.js'
import { type Context, query } from '../world/context.js'
import { gatewayKey, keyIn, targetKey, uniqueGateways } from '../world/world.js'
import { type Findings, mcpFindings } from './mcp-findings.js'
import { type NamedKind, notFound } from './missing-target.js'

/** By targetKey() of a backend: the Gateways whose routes use it; sorted. */
export type Users = ReadonlyMap<string, readonly GatewayName[]>

type TargetRef = ProxyPolicy['spec']['targetRefs'][number]

interface TargetState {
  readonly gateways: readonly GatewayName[]
  /** Why the policy is not attached to it. */
  readonly pending?: string
  /** It does not exist. */
  readonly missing?: true
  /** The sentences that name the policies that won (decision 25). */
  readonly conflict?: string
  /** An HTTPRoute that Gateways serve. */
  readonly route?: TranslatedRoute
}

export const isOnRoutesAlone = ({ spec }: ProxyPolicy): boolean =>
  spec.targetRefs.every(isRouteTarget)

export function policyStatus(
  context: Context,
  policy: ProxyPolicy,
  users: () => Users,
): ResourceStatus {
  return isOnRoutesAlone(policy)
    ? query(context, 'policy-status', policy, (own) => buildStatus(own, policy, users))
    : buildStatus(context, policy, users)
}

function buildStatus(context: Context, policy: ProxyPolicy, users: () => Users): ResourceStatus {
  const translated = translatePolicy(context, policy)
  const states = policy.spec.targetRefs.map((ref) => targetState(context, policy, ref, users))
  const gateways = uniqueGateways(states.flatMap((state) => state.gateways))
  const conflicts = states.flatMap(({ conflict }) => conflict ?? [])
  const found = mcpFindings(
    context,
    policy,
    states.flatMap(({ route }) => route ?? []),
  )
  const refused = acceptance(translated, conflicts, found)
  const accepted =
    refused.status === 'False' || found.faults.length === 0
      ? refused
      : isFalse('Accepted', 'Invalid', unique(found.faults))
  const attached =
    refused.status === 'False'
      ? isFalse('Attached', 'Pending', 'Policy is not attached due to invalid status')
      : attachment(states, translated.jwt?.unavailable ?? [])
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

function attachment(states: readonly TargetState[], unavailable: readonly string[]): Condition {
  const pending = states.flatMap((state) => state.pending ?? [])
  const reason = states.some(({ missing }) => missing) ? 'TargetNotFound' : 'Pending'
  if (pending.length > 0)
    return isFalse('Attached', reason, `Policy is not attached: ${unique(pending)}`)
  return unavailable.length > 0
    ? isFalse('Attached', 'KeySetUnavailable', unique(unavailable))
    : isTrue('Attached', 'Attached', 'Attached to all targets')
}

const unique = (sentences: readonly string[]): string => [...new Set(sentences)].join('\n')

function targetState(
  context: Context,
  policy: ProxyPolicy,
  ref: TargetRef,
  users: () => Users,
): TargetState {
  const { namespace, name } = policy.metadata
  const target = targetKey(ref.group, ref.kind, namespace, ref.name)
  const key = keyIn(namespace, ref.name)
  const pending = (message: string): TargetState => ({ gateways: [], pending: message })
  const missing = (kind: NamedKind): TargetState => ({
    ...pending(notFound(context, kind, namespace, ref.name)),
    missing: true,
  })
  const conflict = attachPolicies(context, target).conflicts.get(keyIn(namespace, name))
  const lost = conflict === undefined ? {} : { conflict }
  if (isServiceTarget(ref))
    return context.reader.read('services', key) === undefined
      ? missing('Service')
      : { gateways: users().get(target) ?? [], ...lost }
  if (!isRouteTarget(ref))
    return {
      ...pending(`${ref.kind} ${key} is not known`),
      gateways: ownGateway(context, ref, { namespace, name: ref.name }),
    }
  const httpRoute = context.reader.read('httpRoutes', key)
  if (httpRoute === undefined) return { ...missing('HTTPRoute'), ...lost }
  const route = translateRoute(context, httpRoute)
  if (route.gateways.length === 0)
    return { ...pending(`HTTPRoute ${key} is not attached to any Gateway`), ...lost }
  return { gateways: route.gateways, route, ...lost }
}

/** A policy may not target a Gateway, but that is where its author looks for the answer. */
function ownGateway(
  context: Context,
  { group, kind }: TargetRef,
  name: GatewayName,
): readonly GatewayName[] {
  const isGateway = group === GATEWAY_API_GROUP && kind === 'Gateway'
  const gateway = isGateway ? translateGateway(context, gatewayKey(name)) : undefined
  return gateway === undefined || gateway === 'foreign' ? [] : [name]
}

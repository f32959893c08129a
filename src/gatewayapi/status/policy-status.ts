// Builds the status of a ProxyPolicy: always both Accepted and Attached, for each Gateway that its targets are attached
// to (decisions 25-29).

import { AUDIT, type Condition, type ResourceStatus } from '../../ir/status.js'
import { isAudited } from '../policies/audit.js'
import {
  isRouteTarget,
  type ProxyPolicy,
  type TranslatedPolicy,
  translatePolicy,
} from '../policies/policies.js'
import { type Heirs, type HeirsOfAll, NO_HEIRS } from '../routes/heirs.js'
import { relayHost } from '../routes/relay-hosts.js'
import { about, isFalse, isTrue, statusOf, uniqueLines } from '../world/conditions.js'
import { type Context, query } from '../world/context.js'
import { uniqueGateways } from '../world/world.js'
import { auditSentences } from './audit-sentences.js'
import { type Findings, mcpFindings } from './mcp-findings.js'
import { cookieLines } from './relay-cookie-lines.js'
import { type TargetState, targetState } from './target-state.js'
import type { Users } from './users.js'

/** Facts that are collected from all routes. */
export interface Uses {
  readonly users: Users
  heirs(): HeirsOfAll
  /** Returns the keys of the HTTPRoutes of a mesh that serve the host name and that no policy checks. */
  readonly uncheckedAt: (host: string) => readonly string[]
}

/** Whether the status depends on nothing but HTTPRoutes that are targets; in a mesh, that of a relay has remarks about others. */
export const isOnRoutesAlone = (policy: ProxyPolicy, isMesh: boolean): boolean =>
  policy.spec.targetRefs.every(isRouteTarget) && !(isMesh && relayHost(policy) !== undefined)

/** Builds the status of a ProxyPolicy. */
export function policyStatus(context: Context, policy: ProxyPolicy, uses: Uses): ResourceStatus {
  return isOnRoutesAlone(policy, context.options.mesh !== undefined)
    ? query(context, 'policy-status', policy, (own) => buildStatus(own, policy, uses))
    : buildStatus(context, policy, uses)
}

function buildStatus(context: Context, policy: ProxyPolicy, uses: Uses): ResourceStatus {
  const translated = translatePolicy(context, policy)
  const states = policy.spec.targetRefs.map((ref) => targetState(context, policy, ref, uses.users))
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
      ...cookieLines(context, policy, uses.uncheckedAt),
    ],
  }
  const refused = acceptance(translated, conflicts, said)
  const accepted =
    refused.status === 'False' || found.faults.length === 0
      ? refused
      : isFalse('Accepted', 'Invalid', uniqueLines(found.faults))
  const attached =
    refused.status === 'False'
      ? unattached(states)
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
  if (problems.length > 0) return isFalse('Accepted', 'Invalid', uniqueLines(problems))
  if (conflicts.length > 0) return isFalse('Accepted', 'Conflicted', uniqueLines(conflicts))
  return warnings.length > 0
    ? isTrue('Accepted', 'PartiallyValid', uniqueLines([...warnings, ...notes]))
    : isTrue('Accepted', 'Valid', uniqueLines(['Policy accepted', ...notes]))
}

/** Returns the condition of a policy that is not accepted. Missing targets are reported too: they may be misspelt. */
function unattached(states: readonly TargetState[]): Condition {
  const missing = states.flatMap((state) => (state.missing === true ? (state.pending ?? []) : []))
  return isFalse(
    'Attached',
    missing.length > 0 ? 'TargetNotFound' : 'Pending',
    uniqueLines(['Policy is not attached due to invalid status', ...missing]),
  )
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
    return isFalse('Attached', reason, `Policy is not attached: ${uniqueLines(pending)}`)
  if (unavailable.length > 0)
    return isFalse('Attached', 'KeySetUnavailable', uniqueLines(unavailable))
  const isOverridden =
    heirs !== undefined &&
    heirs.inForce === 0 &&
    heirs.replaced > 0 &&
    states.every(({ isGateway }) => isGateway)
  if (isOverridden) return isTrue('Attached', 'Overridden', ALL_REPLACED)
  return isAudited(translated)
    ? isTrue(
        'Attached',
        AUDIT,
        uniqueLines([
          ATTACHED,
          ...auditSentences(translated.policy.spec, context.options.mesh !== undefined),
        ]),
      )
    : isTrue('Attached', 'Attached', ATTACHED)
}

const ATTACHED = 'Attached to all targets'
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

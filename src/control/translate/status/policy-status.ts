// Builds the status of a ProxyPolicy: always both Accepted and Attached, for each Gateway that its targets are attached
// to (decisions 25-29).

import { namespaceIn } from '../../../model/names.js'
import { AUDIT, type Condition, type ResourceStatus } from '../../../model/status.js'
import type { ProxyPolicySpec } from '../../schema/kinds/proxy-policy.js'
import { isAudited } from '../policies/audit.js'
import {
  isRouteTarget,
  type ProxyPolicy,
  type TranslatedPolicy,
  translatePolicy,
} from '../policies/policies.js'
import { type Heirs, type HeirsOfAll, NO_HEIRS } from '../routes/heirs.js'
import { relayHost } from '../routes/hosts/relay-hosts.js'
import { about, isFalse, isTrue, statusOf, uniqueLines } from '../world/conditions.js'
import { type Context, query } from '../world/context.js'
import { keyIn, uniqueGateways } from '../world/world.js'
import { type Findings, mcpFindings } from './mcp-findings.js'
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
      ...ownLines(states, policy),
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
  if (more === 0) return heirs.lines
  return heirs.lines.length === 0
    ? [`Replaced: on HTTPRoutes of other namespaces (${more})`]
    : [...heirs.lines, `Replaced: on ${more} more HTTPRoutes`]
}

/** Reports routes without the documents of a Gateway's mcp. In a mesh the documents have their own route. */
const documentLines = ({ options }: Context, heirs: Heirs = NO_HEIRS): readonly string[] =>
  options.mesh !== undefined || heirs.servesResource ? [] : heirs.undocumented

/** Reports the fields of a route's policy that replace those of its Gateways' policies. */
const ownLines = (
  states: readonly TargetState[],
  { metadata: { namespace, name } }: ProxyPolicy,
): readonly string[] =>
  states.flatMap(({ route }) =>
    (route?.scopes ?? []).flatMap(({ inherited }) =>
      inherited.flatMap((one) => {
        const fields = one.replaced
          .filter(({ by }) => by === keyIn(namespace, name))
          .map(({ field }) => field)
        return fields.length === 0
          ? []
          : [
              `${one.isAudited ? 'Audited' : 'In force'}: ${fields.join(', ')} in place of ${namespaceIn(one.policy) === namespace ? `ProxyPolicy ${one.policy}` : 'a ProxyPolicy'} of the ${one.from}, on HTTPRoute ${route?.key ?? ''}`,
            ]
      }),
    ),
  )

// Reports HTTPRoutes of a mesh whose backends get the cookies of a relay. Elsewhere Gatehouse removes them (decision 10k).

/** Returns the remark; none for a policy without a relay. uncheckedAt: as in Uses. */
function cookieLines(
  { options }: Context,
  policy: ProxyPolicy,
  uncheckedAt: (host: string) => readonly string[],
): readonly string[] {
  const host = relayHost(policy)?.name
  if (options.mesh === undefined || host === undefined) return []
  const keys = uncheckedAt(host)
  // A status must not reveal names of other tenants.
  const own = keys.find((key) => key.startsWith(keyIn(policy.metadata.namespace, '')))
  const example = own === undefined ? '' : `, such as ${own}`
  return keys.length === 0
    ? []
    : [
        `Browsers send the cookies of the relay to HTTPRoutes of ${host} that no policy checks (${keys.length}${example}), and their backends get them: give these routes a policy with jwtAuthentication or authorization, or the relay a host of its own`,
      ]
}

// Says what exactly of a policy of mode Audit is audited, and what has no effect.

/** The parts of a policy by what mode Audit does with them. */
interface AuditedParts {
  /** Parts whose denials are logged and counted. */
  readonly logged: readonly string[]
  /** Parts that Envoy counts, without a line in the log. */
  readonly counted: readonly string[]
  /** Parts that have no effect. */
  readonly ignored: readonly string[]
}

/** Returns one sentence each. isMesh: whether a mesh's Envoys serve the policy's routes. */
function auditSentences(spec: ProxyPolicySpec, isMesh: boolean): readonly string[] {
  const { logged, counted, ignored } = auditedParts(spec, isMesh)
  return [
    'Mode Audit: the policy refuses and changes nothing',
    ...sentence('Audited, that is logged and counted', logged),
    ...sentence("Audited by Envoy's statistics alone", counted),
    ...sentence('Not audited and not in force', ignored),
  ]
}

const sentence = (head: string, parts: readonly string[]): readonly string[] =>
  parts.length === 0 ? [] : [`${head}: ${parts.join(', ')}`]

function auditedParts({ traffic, backend }: ProxyPolicySpec, isMesh: boolean): AuditedParts {
  const limits = traffic?.rateLimit?.local ?? []
  const isCounted = limits.some(({ key }) => key === undefined) && !isMesh
  const isIgnored = limits.some(({ key }) => key !== undefined) || isMesh
  return {
    logged: [
      ...named(traffic?.jwtAuthentication, 'traffic.jwtAuthentication'),
      ...named(traffic?.authorization, 'traffic.authorization'),
      ...(isMesh ? [] : guards(backend)),
    ],
    counted: isCounted ? [isIgnored ? `limits of ${LIMITS} without a key` : LIMITS] : [],
    ignored: [
      ...(limits.length > 0 && isIgnored
        ? [isCounted ? `limits of ${LIMITS} with a key` : LIMITS]
        : []),
      ...named(traffic?.transformation, 'traffic.transformation'),
      ...named(traffic?.jwtAuthentication?.mcp, 'the documents of traffic.jwtAuthentication.mcp'),
      ...named(backend?.http?.requestTimeout, 'backend.http.requestTimeout'),
      ...(isMesh ? guards(backend) : []),
    ],
  }
}

const LIMITS = 'traffic.rateLimit'

const guards = (backend: ProxyPolicySpec['backend']): readonly string[] => [
  ...named(backend?.ai?.promptGuard, 'backend.ai.promptGuard'),
  ...named(backend?.mcp?.guard, 'backend.mcp.guard'),
]

const named = (part: unknown, name: string): readonly string[] => (part === undefined ? [] : [name])

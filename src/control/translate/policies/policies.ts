// Translates and validates a ProxyPolicy by itself, independent of its targets' state.

import { atOnce, type Work } from '../../../kit/turns.js'
import type { PolicyName } from '../../../model/mesh-route.js'
import { GATEWAY_API_GROUP } from '../../schema/kinds/fields.js'
import type { ProxyPolicySpec } from '../../schema/kinds/proxy-policy.js'
import type { Resource } from '../../schema/kinds/resources.js'
import { type Context, query, queryWork } from '../world/context.js'
import { backendKinds, kindMeant } from '../world/known-kinds.js'
import { keyOf } from '../world/world.js'
import { type AuthorizationSpec, type CheckedRules, checkRules } from './authorization.js'
import { type CheckedValues, checkValues } from './checked-values.js'
import { type TranslatedJwt, translateJwt } from './jwt-authentication.js'
import { readInlineKeySets } from './key-sets.js'
import { type PromptGuard, translatePromptGuard } from './prompt-guard.js'
import { rateLimitProblems } from './rate-limit.js'
import { transformationProblems } from './transformation.js'

/** A decoded ProxyPolicy. */
export type ProxyPolicy = Resource<ProxyPolicySpec>

/** A policy translated by itself. */
export interface TranslatedPolicy {
  readonly key: string
  readonly policy: ProxyPolicy
  readonly jwt?: TranslatedJwt
  readonly guard?: PromptGuard
  readonly mcpGuard?: PromptGuard
  /** If not empty: Accepted=False, and the targeted routes refuse (decision 25a). */
  readonly problems: readonly string[]
  /** What does not work; shown as PartiallyValid. */
  readonly warnings: readonly string[]
  readonly notes: readonly string[]
  /** Whether the policy protects its targets: they must not be open while it is broken. */
  readonly isProtective: boolean
  /** Whether its rules read MCP messages. */
  readonly readsMcp: boolean
}

/** Returns the namespace and name of a policy. */
export const policyIdentity = ({ policy: { metadata } }: TranslatedPolicy): PolicyName => ({
  namespace: metadata.namespace,
  name: metadata.name,
})

/** Names of the queries about the rules of a policy, and about its expressions for values. */
const RULES = 'rules'
const VALUES = 'values'

/** Checks expressions and key sets of policies in slices, so that translatePolicy() need not do it at once. */
export function* checkPolicies(context: Context, policies: readonly ProxyPolicy[]): Work<void> {
  for (const policy of policies) {
    const { authorization, jwtAuthentication } = policy.spec.traffic ?? {}
    if (jwtAuthentication !== undefined) yield* readInlineKeySets(jwtAuthentication)
    if (authorization !== undefined)
      yield* queryWork(context, RULES, policy, () => checkRules(authorization))
    yield* queryWork(context, VALUES, policy, () => checkValues(policy.spec))
    yield
  }
}

const rulesOf = (context: Context, policy: ProxyPolicy, spec: AuthorizationSpec): CheckedRules =>
  query(context, RULES, policy, () => atOnce(checkRules(spec)))

const valuesOf = (context: Context, policy: ProxyPolicy): CheckedValues =>
  query(context, VALUES, policy, () => atOnce(checkValues(policy.spec)))

/** Translates a policy by itself; memoised. */
export const translatePolicy = (context: Context, policy: ProxyPolicy): TranslatedPolicy =>
  query(context, 'policy', policy, (own) => {
    const { traffic, backend } = policy.spec
    const values = valuesOf(own, policy)
    const from = {
      group: own.options.apiGroup,
      kind: 'ProxyPolicy',
      namespace: policy.metadata.namespace,
    }
    const spec = traffic?.jwtAuthentication
    const jwt =
      spec === undefined
        ? undefined
        : translateJwt(own, { ...from, name: policy.metadata.name }, spec)
    const { lines } = policy
    const guardSpec = backend?.ai?.promptGuard
    const guard =
      guardSpec &&
      translatePromptGuard(own, from, { field: 'promptGuard', spec: guardSpec, lines }, values)
    const mcpGuardSpec = backend?.mcp?.guard
    const mcpGuard =
      mcpGuardSpec &&
      translatePromptGuard(own, from, { field: 'mcp.guard', spec: mcpGuardSpec, lines }, values)
    const rules = traffic?.authorization && rulesOf(own, policy, traffic.authorization)
    return {
      key: keyOf(policy),
      policy,
      ...(jwt === undefined ? {} : { jwt }),
      ...(guard === undefined ? {} : { guard }),
      ...(mcpGuard === undefined ? {} : { mcpGuard }),
      problems: [
        ...policy.spec.targetRefs.flatMap((ref) =>
          targetProblems(policy.spec, ref, own.options.apiGroup),
        ),
        ...(jwt?.problems ?? []),
        ...(rules?.problems ?? []),
        ...(traffic?.rateLimit === undefined ? [] : rateLimitProblems(traffic.rateLimit, values)),
        ...(traffic?.transformation === undefined
          ? []
          : transformationProblems(traffic.transformation, values)),
        ...(guard?.problems ?? []),
        ...(mcpGuard?.problems ?? []),
      ],
      warnings: jwt?.warnings ?? [],
      notes: [...(jwt?.notes ?? []), ...(guard?.notes ?? []), ...(mcpGuard?.notes ?? [])],
      isProtective:
        traffic !== undefined || backend?.ai !== undefined || backend?.mcp !== undefined,
      readsMcp: rules?.readsMcp === true,
    }
  })

/** Returns the policies that want each document, by WantedDocument.id. */
export function wantedBy(
  context: Context,
  policies: readonly ProxyPolicy[],
): ReadonlyMap<string, readonly ProxyPolicy[]> {
  const byId = new Map<string, ProxyPolicy[]>()
  for (const policy of policies)
    for (const { id } of translatePolicy(context, policy).jwt?.wanted ?? []) {
      const wanting = byId.get(id)
      if (wanting === undefined) byId.set(id, [policy])
      else wanting.push(policy)
    }
  return byId
}

type TargetRef = ProxyPolicySpec['targetRefs'][number]

/** Whether the target is an HTTPRoute. */
export const isRouteTarget = ({ group, kind }: TargetRef): boolean =>
  group === GATEWAY_API_GROUP && kind === 'HTTPRoute'

/** Whether the target is a Gateway. */
export const isGatewayTarget = ({ group, kind }: TargetRef): boolean =>
  group === GATEWAY_API_GROUP && kind === 'Gateway'

/** Whether the target is a ListenerSet. */
export const isListenerSetTarget = ({ group, kind }: TargetRef): boolean =>
  group === GATEWAY_API_GROUP && kind === 'ListenerSet'

/** Whether the target is a Service. */
export const isServiceTarget = ({ group, kind }: TargetRef): boolean =>
  group === '' && kind === 'Service'

/** Whether the target is a ProxyBackend. apiGroup: the group of this kind. */
export const isProxyBackendTarget = ({ group, kind }: TargetRef, apiGroup: string): boolean =>
  group === apiGroup && kind === 'ProxyBackend'

/** Returns what is wrong with a targetRef (decision 25a). */
function targetProblems(
  { traffic, backend }: ProxyPolicySpec,
  ref: TargetRef,
  apiGroup: string,
): readonly string[] {
  const target = `${ref.kind} ${ref.name}`
  const isParent = isGatewayTarget(ref) || isListenerSetTarget(ref)
  if (ref.sectionName !== undefined && !isParent)
    return [`targetRefs: sectionName is for the targets Gateway and ListenerSet, not for ${target}`]
  if (isRouteTarget(ref) || isParent)
    return backend?.http === undefined
      ? []
      : [`backend.http may not be used with the target ${target}`]
  if (isServiceTarget(ref) || isProxyBackendTarget(ref, apiGroup))
    return [
      ...(traffic === undefined ? [] : [`traffic may not be used with the target ${target}`]),
      ...(backend?.ai === undefined
        ? []
        : [`backend.ai may not be used with the target ${target}`]),
      ...(backend?.mcp === undefined
        ? []
        : [`backend.mcp may not be used with the target ${target}`]),
    ]
  return [
    `target ${target} of group "${ref.group}" is not known; expected HTTPRoute, Gateway or ListenerSet of ${GATEWAY_API_GROUP}, Service of the core group or ProxyBackend of ${apiGroup}${kindMeant(ref, [...ROUTED_KINDS, ...backendKinds(apiGroup)])}`,
  ]
}

const ROUTED_KINDS = ['HTTPRoute', 'Gateway', 'ListenerSet'].map((kind) => ({
  group: GATEWAY_API_GROUP,
  kind,
}))

// Applies the policies of a Gateway and its ListenerSets as defaults for their routes (decision 25b). A nearer policy
// replaces a field (INHERITED) of all farther ones; nearest are the route's own, then the listener's, then the
// ListenerSet's, then the Gateway's.

import { memo } from '../../../kit/incremental/memo.js'
import type { GatewayName } from '../../../model/status.js'
import { GATEWAY_API_GROUP } from '../../schema/kinds/fields.js'
import type { ProxyPolicySpec } from '../../schema/kinds/proxy-policy.js'
import { type Context, query } from '../world/context.js'
import { gatewayKey, keyOf, targetKey } from '../world/world.js'
import { type Attachment, attachPolicies, merge, ownPolicies } from './attachments.js'
import { isAudited } from './audit.js'
import {
  isGatewayTarget,
  isListenerSetTarget,
  type ProxyPolicy,
  type TranslatedPolicy,
  translatePolicy,
} from './policies.js'

/** The effect of a policy of a Gateway or ListenerSet on one route. */
export interface Inherited {
  /** The kind of its target. */
  readonly from: 'Gateway' | 'ListenerSet'
  /** Key of the policy. */
  readonly policy: string
  readonly isValid: boolean
  /** Whether its mode is Audit: its fields are then audited where they would be in force. */
  readonly isAudited: boolean
  /** Fields in force; empty if all are replaced, or set by an older policy. */
  readonly inForce: readonly string[]
  readonly replaced: readonly Replaced[]
}

/** A field of a policy that a nearer policy replaces. */
export interface Replaced {
  readonly field: string
  /** Key of the policy that sets the field instead. */
  readonly by: string
}

/** The policies in force at a place, with those that come from Gateways. */
export interface Inheritance {
  readonly attachment: Attachment
  readonly inherited: readonly Inherited[]
  /**
   * Where on the Gateway the same policies are in force: at LISTENER, SET_NAMESPACE/SET or SET_NAMESPACE/SET/LISTENER;
   * absent: wherever nothing but the Gateway has policies.
   */
  readonly scope?: string
}

/** Where a route is attached. */
export interface RoutePlace {
  readonly gateway: GatewayName
  /** The ListenerSet that has the listener; absent: the Gateway has it. */
  readonly set?: GatewayName
  /** Name of the listener. */
  readonly listener: string
}

/** target: targetKey() of the route. */
export function inheritPolicies(context: Context, target: string, place: RoutePlace): Inheritance {
  const { gateway, set, listener } = place
  const onGateway = policiesOfParent(context, 'Gateway', gateway)
  const onSet = set === undefined ? [] : policiesOfParent(context, 'ListenerSet', set)
  if (onGateway.length + onSet.length === 0)
    return { attachment: attachPolicies(context, target), inherited: [] }
  const [kind, parent, all] =
    set === undefined
      ? (['Gateway', gateway, onGateway] as const)
      : (['ListenerSet', set, onSet] as const)
  const hasOwn = all.some((policy) => targetedSections(policy, kind, parent.name).has(listener))
  const whole = set === undefined || onSet.length === 0 ? [] : [gatewayKey(set)]
  const parts = [...whole, ...(hasOwn ? [listener] : [])]
  const scope = parts.length === 0 ? undefined : parts.join('/')
  const subject = `${target} ${gatewayTarget(gateway)} ${scope ?? ''}`
  return query(context, 'inheritance', subject, (own) => ({
    ...inherit(own, ownPolicies(own, target), levelsAt(own, place, hasOwn)),
    ...(scope === undefined ? {} : { scope }),
  }))
}

type ParentKind = 'Gateway' | 'ListenerSet'

const policiesOfParent = (
  { reader }: Context,
  kind: ParentKind,
  { namespace, name }: GatewayName,
): readonly ProxyPolicy[] =>
  reader.read('policiesOn', targetKey(GATEWAY_API_GROUP, kind, namespace, name)) ?? []

/** Returns targetKey() of a Gateway. */
export const gatewayTarget = ({ namespace, name }: GatewayName): string =>
  targetKey(GATEWAY_API_GROUP, 'Gateway', namespace, name)

/** Returns the names of the targeted listeners; "" stands for the whole parent, also if a misspelt target means it. */
export function targetedSections(
  { spec }: ProxyPolicy,
  kind: ParentKind,
  name: string,
): ReadonlySet<string> {
  const isTarget = kind === 'Gateway' ? isGatewayTarget : isListenerSetTarget
  const refs = spec.targetRefs.filter((ref) => isTarget(ref) && ref.name === name)
  return new Set(refs.length === 0 ? [''] : refs.map(({ sectionName = '' }) => sectionName))
}

/** hasOwn: whether the listener has policies of its own. Returns the policies nearest to the route first; each once. */
function levelsAt(
  context: Context,
  { gateway, set, listener }: RoutePlace,
  hasOwn: boolean,
): readonly Level[] {
  const at = (from: ParentKind, parent: GatewayName, section: string): Level => ({
    from,
    policies: policiesOfParent(context, from, parent).filter((policy) =>
      targetedSections(policy, from, parent.name).has(section),
    ),
  })
  const own = hasOwn
    ? [set === undefined ? at('Gateway', gateway, listener) : at('ListenerSet', set, listener)]
    : []
  const wholes = [
    ...(set === undefined ? [] : [at('ListenerSet', set, '')]),
    at('Gateway', gateway, ''),
  ]
  const seen = new Set<ProxyPolicy>()
  return [...own, ...wholes].map(({ from, policies }) => {
    const left = policies.filter((policy) => !seen.has(policy))
    for (const policy of left) seen.add(policy)
    return { from, policies: left }
  })
}

const POOLED = 'traffic.authorization'

interface Level {
  readonly from: ParentKind
  readonly policies: readonly ProxyPolicy[]
}

type Levels = readonly Level[]

/** Policies of mode Audit replace only fields of each other, and so do those of mode Enforce (decision 25m). */
function inherit(
  context: Context,
  own: readonly TranslatedPolicy[],
  levels: Levels,
): Pick<Inheritance, 'attachment' | 'inherited'> {
  const ofMode = (mode: ProxyPolicySpec['mode']): InForce =>
    inheritWithin(
      context,
      own.filter(({ policy }) => policy.spec.mode === mode),
      levels.map(({ from, policies }) => ({
        from,
        policies: policies.filter(({ spec }) => spec.mode === mode),
      })),
    )
  const [enforced, audited] = [ofMode('Enforce'), ofMode('Audit')]
  return {
    attachment: merge([...enforced.policies, ...audited.policies]),
    inherited: [...enforced.inherited, ...audited.inherited],
  }
}

interface InForce {
  readonly policies: readonly TranslatedPolicy[]
  readonly inherited: readonly Inherited[]
}

function inheritWithin(
  context: Context,
  own: readonly TranslatedPolicy[],
  levels: Levels,
): InForce {
  const takers = new Map<string, string>()
  const take = (policies: readonly ProxyPolicy[]): void => {
    for (const policy of policies)
      for (const field of fieldsOf(policy.spec))
        if (!takers.has(field)) takers.set(field, keyOf(policy))
  }
  take(own.map(({ policy }) => policy))
  const all = [...own]
  const inherited: Inherited[] = []
  for (const { from, policies: level } of levels) {
    const won = new Set<string>()
    for (const policy of level) {
      const fields = fieldsOf(policy.spec)
      const replaced = fields.flatMap((field) => {
        const by = takers.get(field)
        return by === undefined ? [] : [{ field, by }]
      })
      const left = fields.filter((field) => !takers.has(field))
      const whole = translatePolicy(context, policy)
      if (left.length > 0) all.push(without(context, whole, replaced))
      const isValid = whole.problems.length === 0
      // Within a level the oldest policy sets a field, except for rules, which are pooled (decisions 4 and 25).
      const inForce = left.filter((field) => field === POOLED || !won.has(field))
      for (const field of left) won.add(field)
      const audited = isAudited(whole)
      inherited.push({ from, policy: whole.key, isValid, isAudited: audited, inForce, replaced })
    }
    take(level)
  }
  return { policies: all, inherited }
}

type Backend = NonNullable<ProxyPolicySpec['backend']>

type Decided<Group> = { readonly [Name in keyof Required<Group>]: boolean }

interface Decisions extends Readonly<Record<keyof ProxyPolicySpec, unknown>> {
  readonly targetRefs: false
  readonly mode: false
  readonly traffic: Decided<NonNullable<ProxyPolicySpec['traffic']>>
  readonly backend: {
    readonly [Name in keyof Required<Backend>]: Decided<NonNullable<Backend[Name]>>
  }
}

/** Whether routes inherit a field. The type demands a decision about each field of the spec. */
const INHERITED: Decisions = {
  targetRefs: false,
  mode: false,
  traffic: { jwtAuthentication: true, authorization: true, rateLimit: true, transformation: true },
  backend: { ai: { promptGuard: true }, mcp: { guard: true }, http: { requestTimeout: false } },
}

/** Returns the fields that nearer policies can replace. */
export const fieldsOf = memo((spec: ProxyPolicySpec) => fieldsIn(spec, INHERITED, ''))

function fieldsIn(group: object, decisions: object, path: string): readonly string[] {
  const values = new Map<string, unknown>(Object.entries(group))
  const decided = new Map<string, unknown>(Object.entries(decisions))
  return [...decided].flatMap(([name, decision]) => {
    const value = values.get(name)
    if (value === undefined || decision === false) return []
    return isObject(value) && isObject(decision)
      ? fieldsIn(value, decision, `${path}${name}.`)
      : [`${path}${name}`]
  })
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null

/** Removes replaced fields. A broken policy stays broken whichever fields remain, as its intent is unknown. */
function without(
  context: Context,
  whole: TranslatedPolicy,
  replaced: readonly Replaced[],
): TranslatedPolicy {
  if (replaced.length === 0) return whole
  const fields = replaced.map(({ field }) => field)
  const rest = query(context, `without ${fields.join(' ')}`, whole.policy, () => ({
    ...whole.policy,
    spec: withoutFields(whole.policy.spec, INHERITED, new Set(fields)),
  }))
  return { ...translatePolicy(context, rest), problems: whole.problems }
}

/** Returns a copy of a group without the replaced fields. */
function withoutFields<Group extends object>(
  group: Group,
  decisions: object,
  fields: ReadonlySet<string>,
  path = '',
): Group {
  const decided = new Map<string, unknown>(Object.entries(decisions))
  const values = new Map<string, unknown>(Object.entries(group))
  const rest = [...values].flatMap(([name, value]) => {
    const decision = decided.get(name)
    if (fields.has(`${path}${name}`)) return []
    return isObject(value) && isObject(decision)
      ? [[name, withoutFields(value, decision, fields, `${path}${name}.`)] as const]
      : [[name, value] as const]
  })
  return Object.fromEntries(rest) as Group
}

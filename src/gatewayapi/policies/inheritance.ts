// Applies the policies of a Gateway as defaults for its routes (decision 25b). A nearer policy replaces a field, a
// member of traffic or backend.ai, of all farther ones; nearest are the route's own, then the listener's, then the
// Gateway's.

import type { GatewayName } from '../../ir/status.js'
import { GATEWAY_API_GROUP } from '../../resources/kinds/fields.js'
import type { ProxyPolicySpec } from '../../resources/kinds/proxy-policy.js'
import { type Context, query } from '../world/context.js'
import { keyOf, targetKey } from '../world/world.js'
import { type Attachment, attachPolicies, merge, ownPolicies } from './attachments.js'
import { isAudited } from './audit.js'
import {
  isGatewayTarget,
  type ProxyPolicy,
  type TranslatedPolicy,
  translatePolicy,
} from './policies.js'

/** The effect of a Gateway's policy on one route. */
export interface Inherited {
  /** Key of the policy. */
  readonly policy: string
  readonly isValid: boolean
  /** Whether its mode is Audit: its fields are then audited where they would be in force. */
  readonly isAudited: boolean
  /** Fields in force; empty if all are replaced, or set by an older policy. */
  readonly inForce: readonly string[]
  readonly replaced: readonly Replaced[]
}

export interface Replaced {
  readonly field: string
  /** Key of the policy that sets the field instead. */
  readonly by: string
}

export interface Inheritance {
  readonly attachment: Attachment
  readonly inherited: readonly Inherited[]
  /** Whether the listener has policies of its own. */
  readonly isOfListener: boolean
}

/** target: targetKey() of the route. listener: name of the listener that the route is attached to. */
export function inheritPolicies(
  context: Context,
  target: string,
  gateway: GatewayName,
  listener: string,
): Inheritance {
  const ofGateway = gatewayTarget(gateway)
  const all = context.reader.read('policiesOn', ofGateway) ?? []
  if (all.length === 0)
    return { attachment: attachPolicies(context, target), inherited: [], isOfListener: false }
  const isOfListener = all.some((policy) => targetedSections(policy, gateway.name).has(listener))
  const section = isOfListener ? listener : ''
  return query(context, 'inheritance', `${target} ${ofGateway} ${section}`, (own) => {
    const policies = own.reader.read('policiesOn', ofGateway) ?? []
    const levels = levelsOf(policies, gateway.name, section)
    return { ...inherit(own, ownPolicies(own, target), levels), isOfListener }
  })
}

export const gatewayTarget = ({ namespace, name }: GatewayName): string =>
  targetKey(GATEWAY_API_GROUP, 'Gateway', namespace, name)

/** Returns the names of the targeted listeners; "" stands for the whole Gateway, also if a misspelt target means it. */
export function targetedSections({ spec }: ProxyPolicy, gateway: string): ReadonlySet<string> {
  const refs = spec.targetRefs.filter((ref) => isGatewayTarget(ref) && ref.name === gateway)
  return new Set(refs.length === 0 ? [''] : refs.map(({ sectionName = '' }) => sectionName))
}

/** Returns the policies by level, nearest to the route first; each policy once. */
function levelsOf(
  policies: readonly ProxyPolicy[],
  gateway: string,
  section: string,
): readonly (readonly ProxyPolicy[])[] {
  const at = (name: string) =>
    policies.filter((policy) => targetedSections(policy, gateway).has(name))
  if (section === '') return [at('')]
  const nearer = at(section)
  return [nearer, at('').filter((policy) => !nearer.includes(policy))]
}

const POOLED = 'traffic.authorization'

type Levels = readonly (readonly ProxyPolicy[])[]

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
      levels.map((policies) => policies.filter(({ spec }) => spec.mode === mode)),
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
  for (const level of levels) {
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
      inherited.push({ policy: whole.key, isValid, isAudited: audited, inForce, replaced })
    }
    take(level)
  }
  return { policies: all, inherited }
}

/** Returns the fields that nearer policies can replace. */
export function fieldsOf({ traffic, backend }: ProxyPolicySpec): readonly string[] {
  const members = (object: object, path: string): readonly string[] =>
    Object.entries(object).flatMap(([name, value]) =>
      value === undefined ? [] : [`${path}.${name}`],
    )
  return [...members(traffic ?? {}, 'traffic'), ...members(backend?.ai ?? {}, 'backend.ai')]
}

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
    spec: specWithout(whole.policy.spec, fields),
  }))
  return { ...translatePolicy(context, rest), problems: whole.problems }
}

function specWithout(
  { traffic, backend, ...spec }: ProxyPolicySpec,
  fields: readonly string[],
): ProxyPolicySpec {
  const rest = <Members extends object>(object: Members, path: string): Members =>
    Object.fromEntries(
      Object.entries(object).filter(([name]) => !fields.includes(`${path}.${name}`)),
    ) as Members
  return {
    ...spec,
    ...(traffic === undefined ? {} : { traffic: rest(traffic, 'traffic') }),
    ...(backend?.ai === undefined ? {} : { backend: { ai: rest(backend.ai, 'backend.ai') } }),
  }
}

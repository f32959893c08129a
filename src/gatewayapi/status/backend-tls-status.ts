// Builds the status of a BackendTLSPolicy: Accepted and ResolvedRefs for each Gateway whose routes use its backends.

import type { Condition, ResourceStatus } from '../../ir/status.js'
import { badAuthorities, type TlsPolicy } from '../backends/backend-authorities.js'
import {
  firstBySection,
  sectionsOf,
  tlsPolicyFor,
  translateTlsPolicy,
} from '../backends/backend-tls.js'
import { about, isFalse, isTrue, statusOf } from '../world/conditions.js'
import type { Context } from '../world/context.js'
import { keyIn, keyOf, targetKey, uniqueGateways } from '../world/world.js'
import { notFound } from './missing-target.js'
import type { Users } from './users.js'

/** Whether all targets are of kinds that Gatehouse does not read, such as backends of a mesh. */
export const isOnOthersAlone = ({ options }: Context, { spec }: TlsPolicy): boolean =>
  spec.targetRefs.every(
    ({ group, kind }) =>
      !(group === '' && kind === 'Service') &&
      !(group === options.apiGroup && kind === 'ProxyBackend'),
  )

/** Builds the status of a BackendTLSPolicy. */
export function tlsPolicyStatus(context: Context, policy: TlsPolicy, users: Users): ResourceStatus {
  const targets = policy.spec.targetRefs.map(({ group, kind, name }) =>
    targetKey(group, kind, policy.metadata.namespace, name),
  )
  const gateways = uniqueGateways(targets.flatMap((target) => users.of(target)))
  const conditions = tlsPolicyConditions(context, policy, targets)
  return statusOf(
    policy,
    gateways.length === 0
      ? conditions
      : gateways.flatMap((ancestor) => about(conditions, { ancestor })),
  )
}

function tlsPolicyConditions(
  context: Context,
  policy: TlsPolicy,
  targets: readonly string[],
): readonly Condition[] {
  const tls = translateTlsPolicy(context, policy)
  const refs = resolvedRefs(context, policy)
  if (!tls.ok) return [isFalse('Accepted', tls.error.reason, tls.error.message), refs]
  const missing = policy.spec.targetRefs.flatMap((ref) => missingTarget(context, policy, ref))
  if (missing.length > 0) return [isFalse('Accepted', 'TargetNotFound', missing.join('\n')), refs]
  const winner = targets.map((target) => winnerOver(context, policy, target)).find(Boolean)
  return winner === undefined
    ? [isTrue('Accepted', 'Accepted', 'Policy accepted'), refs]
    : [
        isFalse(
          'Accepted',
          'Conflicted',
          `The older BackendTLSPolicy ${winner} has the same target`,
        ),
        refs,
      ]
}

function resolvedRefs(context: Context, policy: TlsPolicy): Condition {
  const bad = badAuthorities(context, policy)
  const reason = bad[0]?.refReason
  return reason === undefined
    ? isTrue('ResolvedRefs', 'ResolvedRefs', 'All references resolved')
    : isFalse('ResolvedRefs', reason, bad.map(({ message }) => message).join('\n'))
}

function missingTarget(
  context: Context,
  policy: TlsPolicy,
  ref: TlsPolicy['spec']['targetRefs'][number],
): readonly string[] {
  const { reader, options } = context
  const key = keyIn(policy.metadata.namespace, ref.name)
  if (ref.group === options.apiGroup && ref.kind === 'ProxyBackend')
    return reader.read('proxyBackends', key) === undefined
      ? [notFound(context, 'ProxyBackend', policy.metadata.namespace, ref.name)]
      : []
  if (ref.group !== '' || ref.kind !== 'Service')
    return [
      `target ${ref.kind} ${ref.name} of group "${ref.group}" is not known; expected Service of the core group or ProxyBackend of ${options.apiGroup}`,
    ]
  const service = reader.read('services', key)
  if (service === undefined)
    return [notFound(context, 'Service', policy.metadata.namespace, ref.name)]
  const { sectionName } = ref
  return sectionName === undefined || service.spec.ports.some(({ name }) => name === sectionName)
    ? []
    : [`port ${sectionName} not found in Service ${key}`]
}

/** Returns the key of the policy that is in force instead of this one; undefined: none. */
function winnerOver(context: Context, policy: TlsPolicy, target: string): string | undefined {
  const winners = sectionsOf(policy, target).map((section) =>
    section === undefined
      ? firstBySection(context, target).get(undefined)
      : tlsPolicyFor(context, target, section),
  )
  const winner = winners.find((other) => other !== undefined && other !== policy)
  return winner === undefined ? undefined : keyOf(winner)
}

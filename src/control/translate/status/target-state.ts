// Finds the state of each target of a ProxyPolicy: the Gateways that it is attached to, or why it is not attached.

import { similarWord } from '../../../kit/similar.js'
import type { GatewayName } from '../../../model/status.js'
import { translateGateway } from '../listeners/gateways.js'
import { gatewayOf, listenersOfSet } from '../listeners/listener-set-status.js'
import { setPermission } from '../listeners/listener-sets.js'
import { isOfSet, type TranslatedListener } from '../listeners/listeners.js'
import { type Attachment, attachPolicies, fieldConflicts } from '../policies/attachments.js'
import { targetedSections } from '../policies/inheritance.js'
import {
  isGatewayTarget,
  isListenerSetTarget,
  isProxyBackendTarget,
  isRouteTarget,
  isServiceTarget,
  type ProxyPolicy,
  translatePolicy,
} from '../policies/policies.js'
import { type TranslatedRoute, translateRoute } from '../routes/routes.js'
import { uniqueLines } from '../world/conditions.js'
import type { Context } from '../world/context.js'
import { gatewayKey, keyIn, targetKey } from '../world/world.js'
import { type NamedKind, notFound } from './missing-target.js'
import type { Users } from './users.js'

type TargetRef = ProxyPolicy['spec']['targetRefs'][number]

/** Where a target of a policy is attached, or why it is not. */
export interface TargetState {
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

/** Returns the state of one target. users: facts that are collected from all routes. */
export function targetState(
  context: Context,
  policy: ProxyPolicy,
  ref: TargetRef,
  users: Users,
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
    return conflicts.length === 0 ? {} : { conflict: uniqueLines(conflicts) }
  }
  const lost = lostIn([attachPolicies(context, target)])
  const used = { gateways: users.of(target), ...lost }
  if (isServiceTarget(ref))
    return context.reader.read('services', key) === undefined ? missing('Service') : used
  if (isProxyBackendTarget(ref, context.options.apiGroup))
    return context.reader.read('proxyBackends', key) === undefined ? missing('ProxyBackend') : used
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
    listeners: listenersOfSet(context, set, found),
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
  const near = similarWord(
    sectionName,
    listeners.map(({ spec }) => spec.name),
  )
  const hint = near === undefined ? '' : `; did you mean "${near}"?`
  const missing = `${kind} ${keyIn(namespace, ref.name)} has no listener ${sectionName}${hint}`
  return {
    gateways: [gateway],
    isGateway: true,
    ...(conflict === undefined ? {} : { conflict }),
    ...(isThere ? {} : { pending: missing, missing: true }),
  }
}

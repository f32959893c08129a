// Builds the status of a ListenerSet: Accepted and Programmed, and the conditions of its listeners.

import { briefMemo } from '../../../kit/incremental/memo.js'
import type { Condition, GatewayName, ResourceStatus } from '../../../model/status.js'
import { about, isFalse, isTrue, statusOf, unsupportedNote } from '../world/conditions.js'
import type { Context } from '../world/context.js'
import { gatewayOfSet } from '../world/grouping.js'
import { keyOf } from '../world/world.js'
import { type TranslatedGateway, translateGateway } from './gateways.js'
import { listenersBeyond, type ListenerSetResource, setPermission } from './listener-sets.js'
import { isOfSet, isRefusing, type TranslatedListener } from './listeners.js'

/** Returns the Gateway of the ListenerSet; undefined: it names none, or none of Gatehouse's. */
export function gatewayOf(
  context: Context,
  set: ListenerSetResource,
): TranslatedGateway | undefined {
  const found = gatewayOfSet(set).map((key) => translateGateway(context, key))[0]
  return found === 'foreign' ? undefined : found
}

/** Returns the listeners of the ListenerSet, which its Gateway allows. listeners: those of the Gateway in force. */
export const listenersOfSet = (
  context: Context,
  set: ListenerSetResource,
  gateway: TranslatedGateway,
  listeners = gateway.listeners,
): readonly TranslatedListener[] =>
  bySet(listeners).get(keyOf(set)) ??
  listenersBeyond(context, gateway.gateway, set, gateway.listeners)

const bySet = briefMemo((listeners: readonly TranslatedListener[]) => {
  const sets = new Map<string, TranslatedListener[]>()
  for (const listener of listeners) {
    const key = isOfSet(listener.owner) ? keyOf(listener.owner) : undefined
    const known = key === undefined ? undefined : sets.get(key)
    if (known !== undefined) known.push(listener)
    else if (key !== undefined) sets.set(key, [listener])
  }
  return sets
})

/** listeners: those of the Gateway in force. */
export function listenerSetStatus(
  context: Context,
  set: ListenerSetResource,
  gateway: TranslatedGateway | undefined,
  listeners: readonly TranslatedListener[] = gateway?.listeners ?? [],
): ResourceStatus {
  const [key] = gatewayOfSet(set)
  if (gateway === undefined) {
    const isMissing = key !== undefined && translateGateway(context, key) === undefined
    const conditions = isMissing && context.options.isCluster !== true ? noParent(key) : []
    return statusOf(set, conditions)
  }
  const { namespace, name } = gateway.gateway.metadata
  return statusOf(set, conditionsOf(context, set, gateway, listeners, { namespace, name }))
}

const noParent = (key: string): readonly Condition[] => [
  isFalse('Accepted', 'ParentNotAccepted', `Gateway ${key} not found`),
  isFalse('Programmed', 'ParentNotProgrammed', NOT_PUBLISHED),
]

const NOT_PUBLISHED = 'No listener of it is published'

function conditionsOf(
  context: Context,
  set: ListenerSetResource,
  gateway: TranslatedGateway,
  listeners: readonly TranslatedListener[],
  ancestor: GatewayName,
): readonly Condition[] {
  const { isAllowed, doubt } = setPermission(context, gateway.gateway, set)
  if (!isAllowed) {
    const why = doubt === undefined ? '' : `: ${doubt}`
    const message = `Gateway ${gateway.key} does not allow ListenerSets of namespace ${set.metadata.namespace}${why}`
    return about(
      [
        isFalse('Accepted', 'NotAllowed', message),
        isFalse('Programmed', 'NotAllowed', NOT_PUBLISHED),
      ],
      { ancestor },
    )
  }
  const own = listenersOfSet(context, set, gateway, listeners)
  return [
    ...about(ofWhole(set, own, isAccepted(listeners)), { ancestor }),
    ...own.flatMap(({ spec, conditions }) => about(conditions, { ancestor, section: spec.name })),
  ]
}

/** Whether a listener of the Gateway itself is in force. */
const isAccepted = (listeners: readonly TranslatedListener[]): boolean =>
  listeners.some(({ owner, isProgrammed }) => isProgrammed && !isOfSet(owner))

function ofWhole(
  set: ListenerSetResource,
  own: readonly TranslatedListener[],
  isParentAccepted: boolean,
): readonly Condition[] {
  if (!isParentAccepted)
    return [
      isFalse('Accepted', 'ParentNotAccepted', 'No listener of the Gateway itself is valid'),
      isFalse('Programmed', 'ParentNotProgrammed', NOT_PUBLISHED),
    ]
  const note = unsupportedNote(set.unsupported.filter((field) => !isRefusing(set, field)))
  const bad = own.filter(({ isProgrammed }) => !isProgrammed).map(({ spec }) => spec.name)
  if (bad.length === own.length)
    return [
      isFalse('Accepted', 'ListenersNotValid', `No listener is valid: ${bad.join(', ')}${note}`),
      isFalse('Programmed', 'ListenersNotValid', NOT_PUBLISHED),
    ]
  return [
    bad.length === 0
      ? isTrue('Accepted', 'Accepted', `ListenerSet accepted${note}`)
      : isTrue('Accepted', 'ListenersNotValid', `Listeners not valid: ${bad.join(', ')}${note}`),
    isTrue('Programmed', 'Programmed', 'ListenerSet published'),
  ]
}

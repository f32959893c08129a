// Merges the listeners of a Gateway with those of its ListenerSets, by precedence: the Gateway, then older ListenerSets,
// then those that come first by namespace and name (Gateway API, ListenerSet).

import { nameFor } from '../../../model/status.js'
import type { ListenerSetSpec } from '../../schema/kinds/listener-set.js'
import type { Resource } from '../../schema/kinds/resources.js'
import type { Context } from '../world/context.js'
import { keyOf } from '../world/world.js'
import { namespacePermission, type Permission } from './allowed-namespaces.js'
import { conflictAmong, isImplemented } from './listener-conflicts.js'
import {
  type GatewayResource,
  isOfSet,
  type ListenerOwner,
  type ListenerRefusal,
  type ListenerSpec,
  type TranslatedListener,
  translateListener,
} from './listeners.js'

/** A decoded ListenerSet. */
export type ListenerSetResource = Resource<ListenerSetSpec>

/** Maximum number of listeners of a Gateway with its ListenerSets: each is compared with all others of its port. */
export const MOST_LISTENERS = 128

/** Whether the ListenerSet may add listeners to the Gateway. */
export function setPermission(
  context: Context,
  { metadata, spec }: GatewayResource,
  set: ListenerSetResource,
): Permission {
  const { from = 'None', selector } = spec.allowedListeners?.namespaces ?? {}
  const allowed = { from, selector, own: metadata.namespace, of: 'allowedListeners' } as const
  return namespacePermission(context, allowed, set.metadata.namespace)
}

/**
 * Returns the listeners of the Gateway, then those of the ListenerSets that it allows, up to the one with which there are
 * too many: anybody may add ListenerSets, and nothing but their own status needs the rest.
 */
export function translateListeners(
  context: Context,
  gateway: GatewayResource,
): readonly TranslatedListener[] {
  const all = gateway.spec.listeners.map((spec) =>
    translateListener(context, gateway, { owner: gateway, spec }),
  )
  const isClosed = !hasListener(all)
  for (const owner of context.reader.read('listenerSetsOf', keyOf(gateway)) ?? []) {
    if (all.length >= MOST_LISTENERS) break
    if (!setPermission(context, gateway, owner).isAllowed) continue
    const before = all.filter(({ isConflicted, spec }) => !isConflicted && isImplemented(spec))
    const count = all.length
    for (const [index, spec] of owner.spec.listeners.entries()) {
      const refusal = isClosed
        ? PARENT_NOT_ACCEPTED
        : count + index >= MOST_LISTENERS
          ? TOO_MANY
          : conflictBefore(before, spec, owner)
      all.push(translateListener(context, gateway, { owner, spec, refusal }))
    }
  }
  return all
}

/** Returns the listeners of a ListenerSet that comes after too many others. listeners: those of its Gateway. */
export function listenersBeyond(
  context: Context,
  gateway: GatewayResource,
  owner: ListenerSetResource,
  listeners: readonly TranslatedListener[],
): readonly TranslatedListener[] {
  const own = listeners.filter((listener) => !isOfSet(listener.owner))
  const refusal = hasListener(own) ? TOO_MANY : PARENT_NOT_ACCEPTED
  return owner.spec.listeners.map((spec) =>
    translateListener(context, gateway, { owner, spec, refusal }),
  )
}

const hasListener = (all: readonly TranslatedListener[]): boolean =>
  all.some(({ isProgrammed }) => isProgrammed)

const PARENT_NOT_ACCEPTED: ListenerRefusal = {
  reason: 'Invalid',
  message: 'no listener of the Gateway itself is valid',
}
const TOO_MANY: ListenerRefusal = {
  reason: 'TooManyListeners',
  message: `a Gateway has at most ${MOST_LISTENERS} listeners, with those of its ListenerSets`,
}

/** Returns why a listener with precedence excludes this one, of a ListenerSet. */
function conflictBefore(
  before: readonly TranslatedListener[],
  spec: ListenerSpec,
  { metadata: { namespace } }: ListenerSetResource,
): ListenerRefusal | undefined {
  const beside = before.filter((other) => other.spec.port === spec.port)
  for (const { owner, spec: other } of beside) {
    const conflict = conflictAmong([other], spec, () => listenerFor(namespace, other, owner))
    if (conflict !== undefined) return { ...conflict, isConflict: true }
  }
  return undefined
}

/** Names a listener for the namespace of a ListenerSet, which knows its Gateway. */
function listenerFor(namespace: string, { name }: ListenerSpec, owner: ListenerOwner): string {
  if (!isOfSet(owner)) return `listener ${name} of Gateway ${keyOf(owner)}`
  const set = nameFor(namespace, 'ListenerSet', keyOf(owner))
  return owner.metadata.namespace === namespace
    ? `listener ${name} of ${set}`
    : `a listener of ${set}`
}

// Handles Gateways that share a port. Two Envoys can serve them, but an Envoy that serves both binds the port only for
// the older one. The operator states which is the case (--shared-envoys); connected Envoys do not matter.

import { asSentence, type Condition, nameFor, type ResourceStatus } from '../../../model/status.js'
import { gatewayStatus, type TranslatedGateway } from '../listeners/gateways.js'
import { isOfSet, type ListenerOwner, type TranslatedListener } from '../listeners/listeners.js'
import { isFalse, isTrue } from '../world/conditions.js'
import type { Context } from '../world/context.js'

/** The first Gateway of each port, by precedence: older, or as old and first by namespace and name. */
export type PortOwners = ReadonlyMap<number, TranslatedGateway>

/** gateways: by precedence. */
export function portOwners(gateways: readonly TranslatedGateway[]): PortOwners {
  const owners = new Map<number, TranslatedGateway>()
  for (const gateway of gateways)
    for (const { isProgrammed, spec } of gateway.listeners)
      if (isProgrammed && !owners.has(spec.port)) owners.set(spec.port, gateway)
  return owners
}

/** Returns the listeners of a Gateway as an Envoy that serves several Gateways binds them. */
export function boundListeners(
  { options }: Context,
  own: TranslatedGateway,
  owners: PortOwners,
): readonly TranslatedListener[] {
  if (!(options.sharesEnvoys ?? options.isCluster !== true)) return own.listeners
  return own.listeners.map((listener) => {
    const winner = winnerOf(listener, own, owners)
    return winner === undefined ? listener : conflicting(listener, own, winner)
  })
}

/** Returns the Gateway that has the port instead; undefined: none. */
function winnerOf(
  { spec, isProgrammed }: TranslatedListener,
  own: TranslatedGateway,
  owners: PortOwners,
): TranslatedGateway | undefined {
  const owner = isProgrammed ? owners.get(spec.port) : undefined
  return owner === own ? undefined : owner
}

/** Returns the status of a Gateway, with what sharing a port means for it. */
export function withSharedPorts(
  context: Context,
  own: TranslatedGateway,
  owners: PortOwners,
): ResourceStatus {
  const { options } = context
  const shares = new Map(
    own.listeners.flatMap((listener) => {
      const winner = winnerOf(listener, own, owners)
      return winner === undefined ? [] : [[listener, winner] as const]
    }),
  )
  if (shares.size === 0) return own.status
  if (options.sharesEnvoys ?? options.isCluster !== true)
    return gatewayStatus(context, own.gateway, boundListeners(context, own, owners))
  const ofGateway = [...shares].filter(([{ owner }]) => !isOfSet(owner))
  const remarks = new Map(
    ofGateway.map(([{ spec }, winner]) => [
      spec.name,
      remark(nameOf(winner, own.gateway), spec.port),
    ]),
  )
  const conditions = own.status.conditions.map((condition) => remarking(condition, remarks))
  return { ...own.status, conditions }
}

function conflicting(
  listener: TranslatedListener,
  own: TranslatedGateway,
  winner: TranslatedGateway,
): TranslatedListener {
  const why = createdOf(winner) < createdOf(own) ? 'is older' : 'comes first by namespace and name'
  const message = `port ${listener.spec.port} is that of ${nameOf(winner, listener.owner)}, which ${why}`
  return {
    ...listener,
    isProgrammed: false,
    conditions: [
      isFalse('Accepted', 'PortUnavailable', message),
      isTrue('Conflicted', 'PortUnavailable', message),
      isFalse('Programmed', 'Invalid', 'Listener is not published'),
      ...listener.conditions.filter(({ type }) => type !== 'Accepted' && type !== 'Programmed'),
    ],
  }
}

/** reader: whose status names the Gateway. */
const nameOf = ({ key }: TranslatedGateway, reader: ListenerOwner): string =>
  nameFor(reader.metadata.namespace, 'Gateway', key)

const createdOf = ({ gateway }: TranslatedGateway): number =>
  gateway.metadata.creationTimestamp ?? 0

const remark = (gateway: string, port: number): string =>
  `${asSentence(gateway)} has port ${port} too: an Envoy that serves every Gateway binds it for that one`

function remarking(condition: Condition, remarks: ReadonlyMap<string, string>): Condition {
  const said = condition.type === 'Accepted' ? remarks.get(condition.section ?? '') : undefined
  return said === undefined ? condition : { ...condition, message: `${condition.message}\n${said}` }
}

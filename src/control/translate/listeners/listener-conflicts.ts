// Finds listeners of a Gateway that are not distinct (Gateway API, distinct listeners). Of one resource, none of them is
// accepted; listeners of a Gateway precede those of its ListenerSets, and older ListenerSets younger ones. Listeners with an unimplemented protocol bind nothing and conflict with nobody.

import type { GatewaySpec } from '../../schema/kinds/gateway.js'

type ListenerSpec = GatewaySpec['listeners'][number]

/** Why a listener is not distinct. */
export interface ListenerConflict {
  readonly reason: 'ProtocolConflict' | 'HostnameConflict'
  readonly message: string
}

/** Returns the conflict of a listener with others; undefined: none. */
export function conflictOf(
  listeners: readonly ListenerSpec[],
  listener: ListenerSpec,
): ListenerConflict | undefined {
  const others = listeners.filter(
    (other) => other !== listener && other.port === listener.port && isImplemented(other),
  )
  return conflictAmong(others, listener, ({ name }) => `listener ${name}`)
}

/** others: implemented listeners of the same port. nameOf: names one in messages. */
export function conflictAmong(
  others: readonly ListenerSpec[],
  listener: ListenerSpec,
  nameOf: (other: ListenerSpec) => string,
): ListenerConflict | undefined {
  const otherProtocol = others.find(({ protocol }) => protocol !== listener.protocol)
  if (otherProtocol !== undefined)
    return {
      reason: 'ProtocolConflict',
      message: `${nameOf(otherProtocol)} has protocol ${otherProtocol.protocol} on the same port ${listener.port}`,
    }
  const twin = others.find((other) => hostnameOf(other) === hostnameOf(listener))
  return twin === undefined
    ? undefined
    : {
        reason: 'HostnameConflict',
        message: `${nameOf(twin)} has the same hostname on the same port ${listener.port}`,
      }
}

/** Whether Gatehouse implements the listener's protocol. */
export const isImplemented = ({ protocol }: ListenerSpec): boolean =>
  protocol === 'HTTP' || protocol === 'HTTPS'

const hostnameOf = ({ hostname }: ListenerSpec): string => hostname?.toLowerCase() ?? ''

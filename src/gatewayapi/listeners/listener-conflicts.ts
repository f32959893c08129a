// Which listeners of a Gateway cannot be told apart (Gateway API, distinct listeners): none of them is accepted. One of a
// protocol that is not implemented binds nothing, and is in nobody's way.

import type { GatewaySpec } from '../../resources/kinds/gateway.js'

type ListenerSpec = GatewaySpec['listeners'][number]

export interface ListenerConflict {
  readonly reason: 'ProtocolConflict' | 'HostnameConflict'
  readonly message: string
}

export function conflictOf(
  listeners: readonly ListenerSpec[],
  listener: ListenerSpec,
): ListenerConflict | undefined {
  const others = listeners.filter(
    (other) => other !== listener && other.port === listener.port && isImplemented(other),
  )
  const otherProtocol = others.find(({ protocol }) => protocol !== listener.protocol)
  if (otherProtocol !== undefined)
    return {
      reason: 'ProtocolConflict',
      message: `listener ${otherProtocol.name} has protocol ${otherProtocol.protocol} on the same port ${listener.port}`,
    }
  const twin = others.find((other) => hostnameOf(other) === hostnameOf(listener))
  return twin === undefined
    ? undefined
    : {
        reason: 'HostnameConflict',
        message: `listener ${twin.name} has the same hostname on the same port ${listener.port}`,
      }
}

/** Of the protocols that listeners can have. */
export const isImplemented = ({ protocol }: ListenerSpec): boolean =>
  protocol === 'HTTP' || protocol === 'HTTPS'

const hostnameOf = ({ hostname }: ListenerSpec): string => hostname?.toLowerCase() ?? ''

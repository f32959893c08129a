// Which listeners of a Gateway cannot be told apart (Gateway API, distinct listeners): none of them is accepted.

import type { GatewaySpec } from '../resources/gateway.js'

type ListenerSpec = GatewaySpec['listeners'][number]

export interface ListenerConflict {
  readonly reason: 'ProtocolConflict' | 'HostnameConflict'
  readonly message: string
}

export function conflictOf(
  listeners: readonly ListenerSpec[],
  listener: ListenerSpec,
): ListenerConflict | undefined {
  const others = listeners.filter((other) => other !== listener && other.port === listener.port)
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

const hostnameOf = ({ hostname }: ListenerSpec): string => hostname?.toLowerCase() ?? ''

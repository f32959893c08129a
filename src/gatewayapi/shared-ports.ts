// Two Gateways on one port: fine for two Envoys, but one that serves every Gateway can bind it only once; said in the status.

import type { Condition, ResourceStatus } from '../ir/status.js'
import { isTrue } from './conditions.js'
import type { TranslatedGateway } from './gateways.js'

/** before: the Gateways that keep their ports, as they come first by namespace and name. */
export function withSharedPorts(
  { listeners, status }: TranslatedGateway,
  before: readonly TranslatedGateway[],
): ResourceStatus {
  const shared = listeners.flatMap(({ spec, isProgrammed }): readonly Condition[] => {
    const first = before.find((other) => isProgrammed && portsOf(other).includes(spec.port))
    return first === undefined
      ? []
      : [{ ...portConflict(first.key, spec.port), section: spec.name }]
  })
  return shared.length === 0 ? status : { ...status, conditions: [...status.conditions, ...shared] }
}

const portsOf = ({ listeners }: TranslatedGateway): readonly number[] =>
  listeners.filter(({ isProgrammed }) => isProgrammed).map(({ spec }) => spec.port)

const portConflict = (gateway: string, port: number): Condition =>
  isTrue(
    'Conflicted',
    'PortUnavailable',
    `Gateway ${gateway} has port ${port} too: an Envoy that serves every Gateway binds it for that one`,
  )

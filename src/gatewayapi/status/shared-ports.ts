// Two Gateways on one port: fine for two Envoys, but one that serves every Gateway can bind it only once; said in the status.
// In a cluster each Gateway has Envoys of its own as a rule: there it is a remark, and no conflict.

import type { Condition, ResourceStatus } from '../../ir/status.js'
import { isTrue } from '../world/conditions.js'
import type { Context } from '../world/context.js'
import type { TranslatedGateway } from '../listeners/gateways.js'

/** before: the Gateways that keep their ports, as they come first by namespace and name. */
export function withSharedPorts(
  { options }: Context,
  { listeners, status }: TranslatedGateway,
  before: readonly TranslatedGateway[],
): ResourceStatus {
  const shared = listeners.flatMap(({ spec, isProgrammed }): readonly Condition[] => {
    const first = before.find((other) => isProgrammed && portsOf(other).includes(spec.port))
    return first === undefined
      ? []
      : [{ ...portConflict(first.key, spec.port), section: spec.name }]
  })
  if (shared.length === 0) return status
  const conditions =
    options.isCluster === true
      ? status.conditions.map((condition) => remarking(condition, shared))
      : [...status.conditions, ...shared]
  return { ...status, conditions }
}

function remarking(condition: Condition, shared: readonly Condition[]): Condition {
  const remark =
    condition.type === 'Accepted' && shared.find(({ section }) => section === condition.section)
  return remark ? { ...condition, message: `${condition.message}\n${remark.message}` } : condition
}

const portsOf = ({ listeners }: TranslatedGateway): readonly number[] =>
  listeners.filter(({ isProgrammed }) => isProgrammed).map(({ spec }) => spec.port)

const portConflict = (gateway: string, port: number): Condition =>
  isTrue(
    'Conflicted',
    'PortUnavailable',
    `Gateway ${gateway} has port ${port} too: an Envoy that serves every Gateway binds it for that one`,
  )

// Evaluates allowedRoutes.namespaces of a listener: from which namespaces routes may attach (decision 27b). In doubt
// the answer is no: an invalid selector, or one for labels that were not read, must not let every namespace in.

import type { Context } from '../world/context.js'
import { selectorProblem, selects } from '../world/label-selector.js'
import { keyIn } from '../world/world.js'
import type { GatewayResource, ListenerSpec } from './listeners.js'

const NO = { isAllowed: false }

export interface Permission {
  readonly isAllowed: boolean
  /** Set if the answer could not be determined: the reason. */
  readonly doubt?: string
}

/** Whether a route of this namespace may attach. Reads the Namespace only for a selector. */
export function namespacePermission(
  { reader }: Context,
  gateway: GatewayResource,
  spec: ListenerSpec,
  namespace: string,
): Permission {
  const { from, selector } = spec.allowedRoutes.namespaces
  if (from !== 'Selector')
    return { isAllowed: from === 'All' || namespace === gateway.metadata.namespace }
  const problem = selectorProblem(selector)
  if (selector === undefined || problem !== undefined)
    return { ...NO, doubt: `the selector of listener ${spec.name} cannot be read` }
  const labels = reader.read('namespaces', keyIn('', namespace))?.metadata.labels
  const selected = selects(selector, namespace, labels)
  return selected === 'unknown'
    ? {
        ...NO,
        doubt: `the labels of namespace ${namespace} are not known, as no Namespace of that name was read`,
      }
    : { isAllowed: selected === 'yes' }
}

// Evaluates allowedRoutes.namespaces of a listener and allowedListeners.namespaces of a Gateway: from which namespaces
// routes and ListenerSets may attach (decision 27b). In doubt
// the answer is no: an invalid selector, or one for labels that were not read, must not let every namespace in.

import type { LabelSelector } from '../../schema/kinds/gateway.js'
import type { Context } from '../world/context.js'
import { selectorProblem, selects } from '../world/label-selector.js'
import { keyIn } from '../world/world.js'

const NO = { isAllowed: false }

/** Whether a namespace is allowed. */
export interface Permission {
  readonly isAllowed: boolean
  /** Set if the answer could not be determined: the reason. */
  readonly doubt?: string
}

/** A field that allows namespaces, with its owner. */
export interface AllowedNamespaces {
  readonly from: 'All' | 'Selector' | 'Same' | 'None'
  readonly selector?: LabelSelector | undefined
  /** Namespace of the resource that allows them. */
  readonly own: string
  /** Name of the selector's owner, for messages. */
  readonly of: string
}

/** Whether a resource of this namespace may attach. Reads the Namespace only for a selector. */
export function namespacePermission(
  { reader }: Context,
  { from, selector, own, of }: AllowedNamespaces,
  namespace: string,
): Permission {
  if (from !== 'Selector')
    return { isAllowed: from === 'All' || (from === 'Same' && namespace === own) }
  const problem = selectorProblem(selector)
  if (selector === undefined || problem !== undefined)
    return { ...NO, doubt: `the selector of ${of} cannot be read` }
  const labels = reader.read('namespaces', keyIn('', namespace))?.metadata.labels
  const selected = selects(selector, namespace, labels)
  return selected === 'unknown'
    ? {
        ...NO,
        doubt: `the labels of namespace ${namespace} are not known, as no Namespace of that name was read`,
      }
    : { isAllowed: selected === 'yes' }
}

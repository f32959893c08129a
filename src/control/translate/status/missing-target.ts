// Builds the message for a policy target that does not exist, suggesting a similar name.

import { similarWord } from '../../../kit/similar.js'
import type { Context } from '../world/context.js'
import { keyIn } from '../world/world.js'

const NAMES = {
  Gateway: 'gatewayNames',
  ListenerSet: 'listenerSetNames',
  HTTPRoute: 'httpRouteNames',
  ProxyBackend: 'proxyBackendNames',
  Service: 'serviceNames',
} as const

/** The kinds that targets can have. */
export type NamedKind = keyof typeof NAMES

/** Bounds the work: each policy without a target compares all names of its namespace whenever one is added there. */
const MOST_NAMES = 500
const MOST_EDITS = 3

/** Suggests names of the same namespace only: a status must not reveal those of other tenants. */
export function notFound(
  { reader }: Context,
  kind: NamedKind,
  namespace: string,
  name: string,
): string {
  const names = reader.read(NAMES[kind], namespace) ?? []
  const near =
    names.length > MOST_NAMES ? undefined : similarWord(name, names.toSorted(), MOST_EDITS)
  const hint = near === undefined ? '' : `; did you mean "${near}"?`
  return `${kind} ${keyIn(namespace, name)} not found${hint}`
}

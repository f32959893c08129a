// What a policy is told whose target does not exist: that, and which name may have been meant.

import { similarWord } from '../../similar.js'
import type { Context } from '../world/context.js'
import { keyIn } from '../world/world.js'

const NAMES = {
  Gateway: 'gatewayNames',
  HTTPRoute: 'httpRouteNames',
  ProxyBackend: 'proxyBackendNames',
  Service: 'serviceNames',
} as const

/** Kinds whose names are compared. */
export type NamedKind = keyof typeof NAMES

/** Every policy without a target compares all names of its namespace whenever one is new there. */
const MOST_NAMES = 500
const MOST_EDITS = 3

/** names of the same namespace alone: those of others are nobody's business here. */
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

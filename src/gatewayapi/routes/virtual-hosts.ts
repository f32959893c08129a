// Builds a virtual host of a route configuration; returns the same object while its routes are the same.

import { concat } from '../../incremental/chunked-list.js'
import { isSameRow } from '../../incremental/diff.js'
import { createSortedList } from '../../incremental/sorted-list.js'
import type { VirtualHost } from '../../ir/ir.js'
import { virtualHostName } from '../../ir/names.js'
import type { Work } from '../../turns.js'
import { byPrecedence, type OrderedRoute } from './route-order.js'

/** The routes of a domain, by chunk. */
export type Parts = readonly (readonly OrderedRoute[])[]

interface Made {
  readonly parts: Parts
  readonly ordered: readonly OrderedRoute[]
  readonly host: VirtualHost
}

export function createVirtualHost(
  routeConfig: string,
  domain: string,
): (parts: Parts) => Work<VirtualHost> {
  const name = virtualHostName(routeConfig, domain)
  const order = createSortedList(byPrecedence)
  let made: Made | undefined
  return function* (parts) {
    if (made !== undefined && isSameRow(made.parts, parts)) return made.host
    const ordered = yield* order(concat(parts))
    const host =
      made?.ordered === ordered
        ? made.host
        : { name, domains: [domain], routes: ordered.map(({ route }) => route) }
    made = { parts, ordered, host }
    return host
  }
}

// Builds a virtual host of a route configuration; returns the same object while its routes are the same.

import { isSameRow } from '../../../../kit/incremental/diff.js'
import { createSortedList, type Parts } from '../../../../kit/incremental/sorted-list.js'
import type { Work } from '../../../../kit/turns.js'
import type { VirtualHost } from '../../../../model/ir.js'
import { virtualHostName } from '../../../../model/names.js'
import { byPrecedence, type OrderedRoute } from './route-order.js'

interface Made {
  readonly parts: Parts<OrderedRoute>
  readonly ordered: readonly OrderedRoute[]
  readonly host: VirtualHost
}

/** Creates the builder of one virtual host. parts: the routes of its domain, by chunk. */
export function createVirtualHost(
  routeConfig: string,
  domain: string,
): (parts: Parts<OrderedRoute>) => Work<VirtualHost> {
  const name = virtualHostName(routeConfig, domain)
  const order = createSortedList(byPrecedence)
  let made: Made | undefined
  return function* (parts) {
    if (made !== undefined && isSameRow(made.parts, parts)) return made.host
    const ordered = yield* order(parts)
    const host =
      made?.ordered === ordered
        ? made.host
        : { name, domains: [domain], routes: ordered.map(({ route }) => route) }
    made = { parts, ordered, host }
    return host
  }
}

// The virtual hosts of a route configuration, kept from round to round: what is placed there → each host, the same object
// while its routes are.

import { concat } from '../../incremental/chunked-list.js'
import { isSameRow } from '../../incremental/diff.js'
import { createSortedList } from '../../incremental/sorted-list.js'
import type { VirtualHost } from '../../ir/ir.js'
import { virtualHostName } from '../../ir/names.js'
import { byPrecedence, type OrderedRoute } from './route-order.js'

/** The routes of a domain, as each chunk gives them. */
export type Parts = readonly (readonly OrderedRoute[])[]

/** Each domain is there once. */
export type Domains = readonly (readonly [string, Parts])[]

export function createVirtualHosts(
  routeConfig: string,
): (domains: Domains) => readonly VirtualHost[] {
  let past = new Map<string, ReturnType<typeof createVirtualHost>>()
  return (domains) => {
    const now = new Map(
      domains.map(([domain]) => [
        domain,
        past.get(domain) ?? createVirtualHost(routeConfig, domain),
      ]),
    )
    past = now
    return domains.flatMap(([domain, parts]) => now.get(domain)?.(parts) ?? [])
  }
}

interface Made {
  readonly parts: Parts
  readonly ordered: readonly OrderedRoute[]
  readonly host: VirtualHost
}

function createVirtualHost(routeConfig: string, domain: string): (parts: Parts) => VirtualHost {
  const name = virtualHostName(routeConfig, domain)
  const order = createSortedList(byPrecedence)
  let made: Made | undefined
  return (parts) => {
    if (made !== undefined && isSameRow(made.parts, parts)) return made.host
    const ordered = order(concat(parts))
    const host =
      made?.ordered === ordered
        ? made.host
        : { name, domains: [domain], routes: ordered.map(({ route }) => route) }
    made = { parts, ordered, host }
    return host
  }
}

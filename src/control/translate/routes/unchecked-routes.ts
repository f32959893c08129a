// Finds the HTTPRoutes of a mesh that no policy checks at a host: their backends get all cookies of its browsers.

import { domainsServing } from '../../../model/hostnames.js'
import type { TranslatedRoute } from './routes.js'

/** Keys of the unchecked HTTPRoutes by domain, by route configuration. Each domain with a route has a list. */
export type UncheckedRoutes = ReadonlyMap<string, ReadonlyMap<string, readonly string[]>>

/** Returns the places of the routes of a mesh. */
export const uncheckedIn = (routes: readonly TranslatedRoute[]): UncheckedRoutes =>
  sumUnchecked(
    routes.flatMap((route) =>
      route.placed.flatMap(({ placements }) =>
        placements.map(({ routeConfig, domain }): UncheckedRoutes => {
          const keys = isChecked(route) ? [] : [route.key]
          return new Map([[routeConfig, new Map([[domain, keys]])]])
        }),
      ),
    ),
  )

/** Whether each request is checked, or the route is closed. A route that is only audited passes requests unchanged. */
const isChecked = ({ mesh }: TranslatedRoute): boolean =>
  mesh?.isRefused === true || (mesh?.authz !== undefined && mesh.authz.isAudited !== true)

/** Adds up the places of parts of the routes. */
export function sumUnchecked(parts: readonly UncheckedRoutes[]): UncheckedRoutes {
  const sums = new Map<string, Map<string, string[]>>()
  for (const [routeConfig, domains] of parts.flatMap((part) => [...part])) {
    const sum = sums.get(routeConfig) ?? new Map<string, string[]>()
    sums.set(routeConfig, sum)
    for (const [domain, keys] of domains) {
      const there = sum.get(domain)
      if (there === undefined) sum.set(domain, [...keys])
      else there.push(...keys)
    }
  }
  return sums
}

/** Returns the keys of the unchecked routes that serve a host name, sorted. */
export function uncheckedAt(unchecked: UncheckedRoutes, host: string): readonly string[] {
  const serving = domainsServing(host)
  const keys = [...unchecked.values()].flatMap((domains) => {
    const domain = serving.find((one) => domains.has(one))
    return domain === undefined ? [] : (domains.get(domain) ?? [])
  })
  return [...new Set(keys)].sort()
}

// A request belongs to the most specific listener of its port: no route of a broader one answers for its host name
// (Gateway API, listener isolation), or a namespace that may use "*.example.com" could take over "admin.example.com".

import { covers } from './hostnames.js'
import type { TranslatedListener } from './listeners.js'

const hostnameOf = ({ spec }: TranslatedListener): string => spec.hostname?.toLowerCase() ?? '*'

/** The domains that are the listener's own, not those of a more specific one beside it. */
export function ownDomains(
  listener: TranslatedListener,
  beside: readonly TranslatedListener[],
  domains: readonly string[],
): readonly string[] {
  const narrower = beside
    .filter(({ spec, isProgrammed }) => isProgrammed && spec.port === listener.spec.port)
    .map(hostnameOf)
    .filter((other) => other !== hostnameOf(listener) && covers(hostnameOf(listener), other))
  return domains.filter((domain) => !narrower.some((other) => covers(other, domain)))
}

/** listeners: HTTP, of one port. Host names that must be there even without a route, or a broader one would answer. */
export const reservedDomains = (listeners: readonly TranslatedListener[]): readonly string[] => {
  const hostnames = listeners.map(hostnameOf)
  return hostnames.filter((narrow) =>
    hostnames.some((wide) => wide !== narrow && covers(wide, narrow)),
  )
}

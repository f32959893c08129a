// Host names of listeners and routes: what both have in common is what a route serves (Gateway API, HTTPRoute hostnames).

const LABEL = '[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?'
const HOSTNAME = new RegExp(`^${LABEL}(\\.${LABEL})*$`, 'i')

/** Envoy would refuse the whole configuration for what is none. */
export const isHostname = (text: string): boolean => HOSTNAME.test(text)

/** A host name, or one whose first label is "*". */
export const isHostnamePattern = (text: string): boolean => isHostname(text.replace(/^\*\./, ''))

/** "*": any. listener: absent: any. routes: empty: whatever the listener has. Empty result: nothing in common. */
export function intersectHostnames(
  listener: string | undefined,
  routes: readonly string[],
): readonly string[] {
  const own = listener?.toLowerCase() ?? '*'
  if (routes.length === 0) return [own]
  const common = routes.flatMap((route) => intersect(own, route.toLowerCase()) ?? [])
  return [...new Set(common)]
}

/** The narrower of the two where one covers the other. */
function intersect(a: string, b: string): string | undefined {
  if (covers(a, b)) return b
  return covers(b, a) ? a : undefined
}

/** wide is narrow, or a pattern that narrow fits (or is a part of). */
export const covers = (wide: string, narrow: string): boolean =>
  wide === '*' ||
  wide === narrow ||
  (wide.startsWith('*.') && narrow !== '*' && narrow.endsWith(wide.slice(1)))

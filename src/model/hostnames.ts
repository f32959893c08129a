// Intersects the host names of listeners and routes: a route serves those in common (Gateway API, HTTPRoute hostnames).

const LABEL = '[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?'
const HOSTNAME = new RegExp(`^${LABEL}(\\.${LABEL})*$`, 'i')

/** Whether Envoy accepts the text as a host name; it would NACK the whole configuration for anything else. */
export const isHostname = (text: string): boolean => HOSTNAME.test(text)

/** Whether the text is a host name, or one whose first label is "*". */
export const isHostnamePattern = (text: string): boolean => isHostname(text.replace(/^\*\./, ''))

/**
 * Returns the host names that a route serves at a listener; "*" stands for any, an empty result for none in common.
 * listener: absent: any. routes: empty: those of the listener.
 */
export function intersectHostnames(
  listener: string | undefined,
  routes: readonly string[],
): readonly string[] {
  const own = listener?.toLowerCase() ?? '*'
  if (routes.length === 0) return [own]
  const common = routes.flatMap((route) => intersect(own, route.toLowerCase()) ?? [])
  return [...new Set(common)]
}

/** Returns the narrower of the two if one covers the other. */
function intersect(a: string, b: string): string | undefined {
  if (covers(a, b)) return b
  return covers(b, a) ? a : undefined
}

/** Returns the domains of virtual hosts that serve a host name, in Envoy's order of preference. */
export function domainsServing(name: string): readonly string[] {
  const labels = name.split('.')
  const wildcards = labels.slice(1).map((_, index) => `*.${labels.slice(index + 1).join('.')}`)
  return [name, ...wildcards, '*']
}

/** Whether wide equals narrow, or is a pattern that matches everything narrow matches. */
export const covers = (wide: string, narrow: string): boolean =>
  wide === '*' ||
  wide === narrow ||
  (wide.startsWith('*.') && narrow !== '*' && narrow.endsWith(wide.slice(1)))

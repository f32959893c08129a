// Determines how Envoy answers a request that matches no route.

import type { FilterChain } from '../../model/ir.js'
import type { Route } from '../../model/route.js'
import type { ExplainedAnswer, Explanation } from './explanation.js'
import { hostNameOf } from './routing/client-request.js'
import type { FoundRoute } from './routing/find-route.js'

/** An answer by Envoy itself. */
export const byEnvoy = (status: number, text: string): ExplainedAnswer => ({
  from: 'Envoy',
  status,
  text,
})

/** Returns the answer, and what would lead the request to a route. */
export function unrouted(
  found: Exclude<FoundRoute, { readonly type: 'route' }>,
): Pick<Explanation, 'answer' | 'changes'> {
  switch (found.type) {
    case 'no-chain':
      return {
        answer: { from: 'nobody', text: `the connection is closed: ${found.why}` },
        changes: ['Use the scheme of the listener, and a host name that it has'],
      }
    case 'malformed':
      return {
        answer: byEnvoy(400, `bad request: ${found.why}`),
        changes: [`Correct the request: ${found.why}`],
      }
    case 'no-host':
      return {
        answer: byEnvoy(404, `no route has the host ${hostNameOf(found.request.authority)}`),
        changes: [
          `Add the host to hostnames of an HTTPRoute; the hosts of the listener are ${hostsText(found.chain)}`,
        ],
      }
    case 'no-route':
      return {
        answer: byEnvoy(404, 'no route of the host matches the request'),
        changes: [
          `Add a match to an HTTPRoute of the host, or send a request that one matches: ${routesText(found.host.routes)}`,
        ],
      }
    case 'too-many-hops':
      return {
        answer: byEnvoy(508, 'the request has passed the gateway too often'),
        changes: ['A route leads back to the gateway: change its backend'],
      }
    case 'path-parameters':
      return {
        answer: byEnvoy(
          400,
          'path parameters (";") are not accepted on a host with a protected route',
        ),
        changes: ['Send the path without ";"'],
      }
  }
}

const MAX_LISTED = 10

function listed(all: readonly string[]): string {
  if (all.length === 0) return 'none'
  const more = all.length > MAX_LISTED ? ` and ${String(all.length - MAX_LISTED)} more` : ''
  return all.slice(0, MAX_LISTED).join(', ') + more
}

const hostsText = ({ virtualHosts }: FilterChain): string =>
  listed(virtualHosts.flatMap(({ domains }) => domains))

function routesText(routes: readonly Route[]): string {
  const matches = routes.map(({ match: { method, path } }) =>
    method === undefined ? `${path.type} ${path.value}` : `${method} ${path.type} ${path.value}`,
  )
  return listed([...new Set(matches)])
}

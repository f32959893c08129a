// Checks MCP routes for the status of their policy: whether clients find the policy's documents, and whether the routes
// serve resourceMetadata.resource, and whether clients can ask for the scopes that a route requires.

import { covers } from '../../../model/hostnames.js'
import { translateGateway } from '../listeners/gateways.js'
import { tokenPolicies } from '../policies/attachments.js'
import type { Mcp } from '../policies/mcp.js'
import type { ProxyPolicy } from '../policies/policies.js'
import type { TranslatedRoute } from '../routes/routes.js'
import { documentPaths, isMatched, mcpPathsOf } from '../routes/well-known-routes.js'
import type { Context } from '../world/context.js'
import { gatewayKey, ownerKey } from '../world/world.js'

/** What the status of a policy reports about its MCP routes. */
export interface Findings {
  /** Remarks about what may be intended. */
  readonly notes: readonly string[]
  /** Parts of the policy that cannot work (PartiallyValid). */
  readonly warnings: readonly string[]
  /** Reasons why the policy as a whole cannot work (Accepted=False). */
  readonly faults: readonly string[]
}

/** routes: the policy's target routes that Gateways serve. */
export function mcpFindings(
  context: Context,
  policy: ProxyPolicy,
  routes: readonly TranslatedRoute[],
): Findings {
  const own = routes.flatMap((route) => {
    const winners = route.scopes.flatMap(({ attachment }) => tokenPolicies(attachment))
    const mcp = winners.find((winner) => winner.policy === policy)?.jwt?.mcp
    return mcp === undefined ? [] : [{ route, mcp }]
  })
  const all = own.flatMap(({ route, mcp }) => [
    // Decision 13a: added headers are listed.
    { notes: addedHeaders(route) },
    // In a mesh the documents have their own route.
    context.options.mesh === undefined ? documentFindings(mcp, route, routes) : {},
    resourceFindings(context, mcp, route, routes),
    { warnings: scopeWarnings(policy, route) },
  ])
  return {
    notes: all.flatMap(({ notes = [] }) => notes),
    warnings: all.flatMap(({ warnings = [] }: Partial<Findings>) => warnings),
    faults: all.flatMap(({ faults = [] }: Partial<Findings>) => faults),
  }
}

const addedHeaders = ({ key, corsAdded }: TranslatedRoute): readonly string[] =>
  corsAdded.length === 0
    ? []
    : [`Added to the CORS filter of HTTPRoute ${key} for MCP clients: ${corsAdded.join('; ')}`]

/** Reports document paths that no match covers; with a configured resource, any route of the policy may match them. */
function documentFindings(
  mcp: Mcp,
  { key, route }: TranslatedRoute,
  routes: readonly TranslatedRoute[],
): Partial<Findings> {
  const { resourceMetadata, ofServer } = documentPaths(mcp, mcpPathsOf(mcp, route.spec))
  const specs = mcp.resource === undefined ? [route.spec] : routes.map((one) => one.route.spec)
  const missing = (paths: readonly string[]): readonly string[] =>
    paths.filter((path) => !specs.some((spec) => isMatched(spec, path)))
  const sentence = (paths: readonly string[], effect: string): readonly string[] =>
    paths.length === 0 ? [] : [`HTTPRoute ${key} does not match ${paths.join(' and ')}: ${effect}`]
  const resource = missing([resourceMetadata])
  const server = missing(ofServer)
  if (mcp.relay !== undefined) return { faults: sentence([...resource, ...server], NO_LOGIN) }
  // The other missing paths are below the first.
  const first = server.slice(0, 1)
  return mcp.authorizationServer === undefined
    ? { warnings: sentence([...resource, ...first], NO_LOGIN) }
    : { warnings: sentence(resource, NO_LOGIN), notes: sentence(first, NO_OLD_LOGIN) }
}

const NO_LOGIN = 'clients cannot log in'
const NO_OLD_LOGIN = 'clients that do not know resource metadata cannot log in'

function resourceFindings(
  context: Context,
  mcp: Mcp,
  { key, route }: TranslatedRoute,
  routes: readonly TranslatedRoute[],
): Partial<Findings> {
  const { spec, resource } = mcp
  const url = spec.resourceMetadata?.resource
  if (url === undefined || resource === undefined || !URL.canParse(url)) return {}
  const { hostname } = new URL(url)
  const what = `mcp.resourceMetadata.resource ${url}`
  const placed = routes.flatMap(({ scopes }) => scopes.flatMap(({ placements }) => placements))
  const domains = [...new Set(placed.map(({ domain }) => domain))]
  const isHost = domains.some((domain) => covers(domain, hostname))
  const served = `HTTPRoute ${key} serves ${domains.join(', ')}`
  if (!isHost && isLoopback(hostname))
    return { warnings: [`${what} is of this machine, but ${served}: ${NO_LOGIN}`] }
  const isSomewhere = (path: string): boolean =>
    routes.some((one) => isMatched(one.route.spec, path))
  const { resourceMetadata } = documentPaths(mcp, mcpPathsOf(mcp, route.spec))
  const isPath = isSomewhere(resource.path || '/') || !isSomewhere(resourceMetadata)
  return {
    notes: [
      ...(isHost
        ? []
        : [
            `${what} is of another host, but ${served}: that needs a proxy that changes Host`,
            ...(mcp.relay === undefined ? [] : [cookiesElsewhere(route)]),
          ]),
      ...(isPath
        ? []
        : [
            `${what} has a path that HTTPRoute ${key} does not match: that needs a proxy that changes paths`,
          ]),
      ...(isLoopback(hostname) && !isListenedOn(context, new URL(url), routes)
        ? [
            `${what} has a scheme and port that no listener of HTTPRoute ${key} has: that needs a forwarded port`,
          ]
        : []),
    ],
  }
}

/** Says where the cookies of a relay are removed if the host of its resource is not one of its routes (decision 10k). */
const cookiesElsewhere = ({ metadata: { namespace } }: TranslatedRoute['route']): string =>
  `The relay's cookies are removed on hosts that HTTPRoutes of namespace ${namespace} serve; for HTTPRoutes of another namespace that needs a ReferenceGrant there, from ProxyPolicy of namespace ${namespace} to HTTPRoute`

/** Reports scopes that a route requires and clients cannot ask for at the relay, although the challenge names them. */
function scopeWarnings(policy: ProxyPolicy, { key, scopes }: TranslatedRoute): readonly string[] {
  const missing = scopes.flatMap(({ attachment: { jwt, authorization } }) => {
    const relay = jwt?.policy === policy ? jwt.jwt?.mcp?.relay : undefined
    if (relay === undefined) return []
    const required = (authorization?.requiredScopes ?? []).flatMap((entry) => entry.scopes)
    return required.filter((scope) => !relay.scopes.includes(scope))
  })
  return missing.length === 0
    ? []
    : [
        `HTTPRoute ${key} requires scopes that mcp.relay.scopes (by default resourceMetadata.scopesSupported) does not list: ${[...new Set(missing)].join(' ')}: ${NO_LOGIN} for them`,
      ]
}

/** Whether the host is this machine. No proxy is expected there, so names and ports of listeners can be compared. */
const isLoopback = (hostname: string): boolean =>
  /^(?:(?:.+\.)?localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname)

function isListenedOn(
  context: Context,
  { protocol, port }: URL,
  routes: readonly TranslatedRoute[],
): boolean {
  const [listenerProtocol, standard] = protocol === 'https:' ? ['HTTPS', 443] : ['HTTP', 80]
  const wanted = port === '' ? standard : Number(port)
  return routes.some(({ gateways, listeners }) =>
    gateways.some((name) => {
      const gateway = translateGateway(context, gatewayKey(name))
      return (
        typeof gateway === 'object' &&
        gateway.listeners.some(
          ({ owner: { kind, metadata }, spec }) =>
            listeners.get(ownerKey({ kind, ...metadata }))?.has(spec.name) === true &&
            spec.port === wanted &&
            spec.protocol === listenerProtocol,
        )
      )
    }),
  )
}

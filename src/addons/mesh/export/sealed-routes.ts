// Seals the user's own HTTPRoutes: their backends are unreachable without Gatehouse's marks, whatever happens to its
// policies.

import type { MeshRetry, MeshRoute, MeshRule } from '../../../model/mesh-route.js'
import { SEAL_HEADERS, SEAL_SECRET } from '../../../model/names.js'
import { durationText, httpRoute, routeFields } from './gateway-api.js'
import { type Manifest, metadataOf } from './manifest.js'

/** Seals by namespace. */
export type Seals = ReadonlyMap<string, string>

/** Whether the route can be sealed: one that is only audited is served without Gatehouse. */
export const isSealable = ({ authz, isGuarded, documents }: MeshRoute): boolean =>
  isClosing(authz) || isGuarded || documents !== undefined

const isClosing = (authz: MeshRoute['authz']): boolean =>
  authz !== undefined && authz.isAudited !== true

/** Returns the existing seals, and a new one for each namespace that has none. */
export function sealsOf(routes: readonly MeshRoute[], newSeal: () => string): Seals {
  const known = new Map(
    routes.flatMap(({ namespace, sealing: { secret } }) =>
      secret === undefined ? [] : [[namespace, secret] as const],
    ),
  )
  const lacking = routes.map(({ namespace }) => namespace).filter((name) => !known.has(name))
  return new Map([...known, ...[...new Set(lacking)].map((name) => [name, newSeal()] as const)])
}

/** Returns Secrets for the namespaces that have none. */
export function sealSecrets(routes: readonly MeshRoute[], seals: Seals): readonly Manifest[] {
  const known = new Set(
    routes.filter(({ sealing }) => sealing.secret !== undefined).map(({ namespace }) => namespace),
  )
  return [...seals]
    .filter(([namespace]) => !known.has(namespace))
    .map(([namespace, seal]) => ({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: metadataOf(namespace, SEAL_SECRET.name),
      stringData: { [SEAL_SECRET.key]: seal },
    }))
}

/**
 * Returns the sealed version of a route: each rule, in its order, is followed by one that also matches the seal and has
 * the backends.
 * @param closed reference to a backend that never answers.
 */
export function sealedRoute(route: MeshRoute, seal: string, closed: object): Manifest {
  const { namespace, name, rules, sealing } = route
  const metadata = { namespace, name, labels: sealing.labels }
  return httpRoute(metadata, {
    ...routeFields(route),
    rules: rules.flatMap((rule) => [
      closedRule(rule, closed),
      openRule(rule, sealHeaders(route), seal),
    ]),
  })
}

/** Names of the headers that must carry the seal: one for each of ext_authz and ext_proc that the route uses. */
const sealHeaders = ({ authz, isGuarded }: MeshRoute): readonly string[] => [
  ...(isClosing(authz) ? [SEAL_HEADERS.authz] : []),
  ...(isGuarded ? [SEAL_HEADERS.guard] : []),
]

const closedRule = ({ matches, filters }: MeshRule, closed: object): object => ({
  matches,
  ...withFilters(filters.filter(({ type }) => type === 'CORS')),
  backendRefs: [closed],
})

/** What a manifest has for each field of T. A field that is added to T must be added here too. */
type Parts<T> = { readonly [K in keyof Required<T>]: object }

const joined = <T>(parts: Parts<T>): object =>
  Object.values<object>(parts).reduce((all, part) => ({ ...all, ...part }), {})

function openRule(rule: MeshRule, headers: readonly string[], seal: string): object {
  const { name, matches, filters, backendRefs, timeouts, retry } = rule
  const seals = headers.map((header) => ({ type: 'Exact', name: header, value: seal }))
  return joined<MeshRule>({
    name: name === undefined ? {} : { name },
    matches: {
      matches: matches.map((match) => ({ ...match, headers: [...match.headers, ...seals] })),
    },
    filters: withFilters(unmarked(filters, headers)),
    backendRefs: backendRefs.length === 0 ? {} : { backendRefs },
    timeouts: withTimeouts(timeouts),
    retry: retry === undefined ? {} : { retry: retryOf(retry) },
  })
}

const retryOf = ({ codes, attempts, backoff }: MeshRetry): object =>
  joined<MeshRetry>({
    codes: codes.length === 0 ? {} : { codes },
    attempts: attempts === undefined ? {} : { attempts },
    backoff: backoff === undefined ? {} : { backoff: durationText(backoff) },
  })

/** Removes the marks through the rule's RequestHeaderModifier, as a rule may have only one. */
function unmarked(filters: MeshRule['filters'], remove: readonly string[]): readonly object[] {
  const own = filters.find(({ type }) => type === 'RequestHeaderModifier')?.requestHeaderModifier
  const modifier = {
    type: 'RequestHeaderModifier',
    requestHeaderModifier: { ...own, remove: [...(own?.remove ?? []), ...remove] },
  }
  return [...filters.filter(({ type }) => type !== 'RequestHeaderModifier'), modifier]
}

const withFilters = (filters: readonly object[]): object =>
  filters.length === 0 ? {} : { filters }

function withTimeouts({ request, backendRequest }: MeshRule['timeouts']): object {
  if (request === undefined && backendRequest === undefined) return {}
  return {
    timeouts: {
      ...(request === undefined ? {} : { request: durationText(request) }),
      ...(backendRequest === undefined ? {} : { backendRequest: durationText(backendRequest) }),
    },
  }
}

// Translates the backendRefs of a rule into weighted destinations. An unresolved share is kept and gets 500
// (Gateway API, HTTPRoute backendRefs).

import type { Destination } from '../../../model/destination.js'
import type { WeightedDestination } from '../../../model/route.js'
import { asSentence, nameFor } from '../../../model/status.js'
import { GATEWAY_API_GROUP } from '../../schema/kinds/fields.js'
import type { HttpRouteRule } from '../../schema/kinds/http-route.js'
import type { Backend, BackendProblem } from '../backends/backends.js'
import { type Attachment, attachPolicies } from '../policies/attachments.js'
import type { Context } from '../world/context.js'
import { translateFilters } from './filters.js'
import { resolvePresented } from './presented-backends.js'

/** The translated backendRefs of a rule. */
export interface RouteBackends {
  readonly weighted: readonly WeightedDestination[]
  readonly destinations: readonly Destination[]
  /** targetKey() of each backend. */
  readonly uses: readonly string[]
  /** The shortest backend.http.requestTimeout of the backends, in milliseconds (decision 21). */
  readonly requestTimeoutMs?: number
  readonly refProblems: readonly BackendProblem[]
  /** Messages about backends that are in use nevertheless. */
  readonly refNotes: readonly string[]
  /** If not empty, the whole rule refuses. */
  readonly problems: readonly string[]
}

/** keepsHost: whether a URLRewrite sets the Host, which then replaces the backend's. presenter: see RouteScope. */
export function translateBackends(
  context: Context,
  namespace: string,
  rule: HttpRouteRule,
  { keepsHost, presenter }: { readonly keepsHost: boolean; readonly presenter: string | undefined },
): RouteBackends {
  const from = { group: GATEWAY_API_GROUP, kind: 'HTTPRoute', namespace }
  const shares = rule.backendRefs.map((ref) => {
    const backend = resolvePresented(context, from, ref, presenter)
    const filters = translateFilters(ref.filters, [
      'RequestHeaderModifier',
      'ResponseHeaderModifier',
    ])
    const usable = backend.ok && filters.problems.length === 0 ? backend.value : undefined
    return { ref, backend, filters, weighted: shareOf(ref.weight, usable, filters, keepsHost) }
  })
  const backends = shares.flatMap(({ backend }) => (backend.ok ? [backend.value] : []))
  const attachments = backends.map(({ target }) => attachPolicies(context, target))
  const timeouts = attachments.flatMap(({ requestTimeoutMs }) => requestTimeoutMs ?? [])
  return {
    weighted: shares.map(({ weighted }) => weighted),
    destinations: backends.map(({ destination }) => destination),
    uses: shares.map(({ backend }) => (backend.ok ? backend.value.target : backend.error.target)),
    ...(timeouts.length === 0 ? {} : { requestTimeoutMs: Math.min(...timeouts) }),
    refProblems: shares.flatMap(({ backend }) =>
      backend.ok ? problemOf(backend.value) : [backend.error],
    ),
    refNotes: backends.flatMap(({ note }) => note ?? []),
    problems: [
      ...shares.flatMap(({ ref, filters }) =>
        filters.problems.map((problem) => `backendRef ${ref.name}: ${problem}`),
      ),
      ...brokenPolicies(namespace, attachments),
    ],
  }
}

/** Reports invalid policies on backends, which make the rule refuse. namespace: of the route. */
export const brokenPolicies = (
  namespace: string,
  attachments: readonly Attachment[],
): readonly string[] =>
  attachments.flatMap(({ policies }) =>
    policies
      .filter(({ problems, isProtective }) => isProtective && problems.length > 0)
      .map(
        ({ key }) =>
          `${asSentence(nameFor(namespace, 'ProxyPolicy', key))} on a backend is not valid`,
      ),
  )

/** Returns the problem of a backend without endpoints; its share of the traffic gets 503. */
const problemOf = ({ target, problem }: Backend): readonly BackendProblem[] =>
  problem === undefined ? [] : [{ target, ...problem }]

function shareOf(
  weight: number,
  backend: Backend | undefined,
  { requestHeaders, responseHeaders }: ReturnType<typeof translateFilters>,
  keepsHost: boolean,
): WeightedDestination {
  return {
    ...(backend === undefined ? {} : { destination: backend.destination.name }),
    weight,
    ...(backend?.host === undefined || keepsHost ? {} : { host: backend.host }),
    ...(requestHeaders === undefined ? {} : { requestHeaders }),
    ...(responseHeaders === undefined ? {} : { responseHeaders }),
  }
}

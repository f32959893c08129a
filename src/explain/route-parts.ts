// Describes the route of a request: its HTTPRoute, its policies, and what the other filters and the backend do.

import type { AuthzAudit, AuthzEntry } from '../ir/authz-entry.js'
import type { Ir } from '../ir/ir.js'
import type { PolicySource } from '../ir/policy-source.js'
import type { ProcEntry, WellKnownEntry } from '../ir/proc-entry.js'
import type { ForwardAction, Route, ValueMatch } from '../ir/route.js'
import { oauthDocumentAt, relayEndpointAt } from '../oauth/paths.js'
import type { Resources } from '../resources/kinds/resources.js'
import { matchText } from './check-steps.js'
import type { ExplainedPolicy, ExplainedRoute } from './explanation.js'

/** The table entries of a route; absent: it has none. */
export interface RouteEntries {
  readonly authz?: AuthzEntry | undefined
  readonly proc?: ProcEntry | undefined
}

/** Finds the entries that the route names. */
export const entriesOf = ({ authz, proc }: Pick<Ir, 'authz' | 'proc'>, route: Route) => ({
  authz: authz.find(({ key }) => key === route.authz),
  proc: proc.find(({ key }) => key === route.proc?.key),
})

/** Describes the rule by the route's name ("NAMESPACE/NAME/RULE/MATCH"); undefined: it is no HTTPRoute's. */
export function describeRoute(
  { name, match }: Route,
  { httpRoutes }: Pick<Resources, 'httpRoutes'>,
): ExplainedRoute | undefined {
  const [, httpRoute, rule] = /^([^/]+\/[^/]+)\/(\d+)\//.exec(name) ?? []
  if (httpRoute === undefined) return undefined
  const source = httpRoutes.find(
    ({ metadata }) => `${metadata.namespace}/${metadata.name}` === httpRoute,
  )?.source
  const parts = [
    ...(match.method === undefined ? [] : [match.method]),
    matchText(match.path),
    ...match.headers.map((one) => `header ${valueText(one)}`),
    ...match.queryParams.map((one) => `query ${valueText(one)}`),
  ]
  return {
    name,
    httpRoute,
    rule: Number(rule),
    ...(source !== undefined && { source }),
    match: parts.join(', '),
  }
}

const valueText = ({ name, type, value }: ValueMatch): string =>
  `${name} ${type === 'Exact' ? 'is' : 'matches'} ${JSON.stringify(value)}`

/** Returns the policies of the entries, each once, with the parts that come from it. */
export function policiesOf({ authz, proc }: RouteEntries): readonly ExplainedPolicy[] {
  const found = new Map<string, { readonly from: PolicySource; readonly parts: string[] }>()
  const add = (from: PolicySource | undefined, part: string): void => {
    if (from === undefined) return
    const known = found.get(from.policy) ?? { from, parts: [] }
    known.parts.push(part)
    found.set(from.policy, known)
  }
  const addAll = ({ jwt, policy, authorization }: AuthzAudit, suffix: string): void => {
    if (jwt !== undefined) add(policy, `jwtAuthentication (${jwt.mode})${suffix}`)
    for (const each of authorization?.policies ?? []) {
      if (each.rules > 0) add(each, `authorization (${each.action})${suffix}`)
      if (each.scopes > 0) add(each, `requiredScopes${suffix}`)
    }
  }
  if (authz?.isClosed === true) add(authz.policy, 'not valid')
  if (authz !== undefined) addAll(authz, '')
  if (authz?.audit !== undefined) addAll(authz.audit, ', mode Audit')
  if (proc?.type === 'guard') add(proc.policy, 'promptGuard')
  if (proc?.type === 'mcp-guard') add(proc.policy, 'mcp.guard')
  return [...found.values()].map(({ from: { policy, source }, parts }) => ({
    ...{ policy, source },
    parts,
  }))
}

/** Whether no backendRef that gets traffic resolves. */
export const isUnresolved = ({ destinations }: ForwardAction): boolean =>
  destinations.every(({ destination, weight }) => weight === 0 || destination === undefined)

/** Names the backends of a route with their shares. */
export function backendsText({ destinations }: ForwardAction): string {
  const total = destinations.reduce((sum, { weight }) => sum + weight, 0)
  const used = destinations.filter(({ weight }) => weight > 0)
  return used
    .map(({ destination, weight }) => {
      const name = destination ?? 'no backend (500: a backendRef does not resolve)'
      return used.length === 1 ? name : `${name} (${String(Math.round((100 * weight) / total))} %)`
    })
    .join(', ')
}

const DOCUMENTS = {
  'resource-metadata': 'the protected resource metadata (RFC 9728)',
  'server-metadata': 'the authorization server metadata (RFC 8414)',
  registration: 'client registration (RFC 7591)',
}

/** Names the document or endpoint at the path; undefined: there is none, and the answer is 404. */
export function documentAt({ paths, relay }: WellKnownEntry, path: string): string | undefined {
  const document = oauthDocumentAt(paths.mcpPath, path)
  if (document !== undefined) return DOCUMENTS[document]
  const endpoint = relay && relayEndpointAt(paths.mcpPath, path)
  return endpoint === undefined ? undefined : `the endpoint "${endpoint}" of the relayed login`
}

/** Describes, in notes, how an allowed request is processed after the check. */
export function laterNotes(route: Route, { proc }: RouteEntries): readonly string[] {
  const notes: string[] = []
  if (route.limits !== undefined)
    notes.push('Rate limits apply; how much of them is used is not known here (429 beyond)')
  if (proc?.type === 'guard' || proc?.type === 'mcp-guard') {
    const names = (list: typeof proc.request): string =>
      list.map(({ backend }) => backend).join(', ') || 'none'
    notes.push(
      `Webhooks would be asked, in this order: for the request ${names(proc.request)}; for the reply ${names(proc.response)}. They may change or reject the texts`,
    )
  }
  if (proc?.type === 'lists') notes.push('Lists in the reply lose the items that the rules deny')
  return notes
}

// Describes the route of a request: its HTTPRoute, its table entries and its backends.

import type { Resources } from '../../control/schema/kinds/resources.js'
import type { AuthzEntry } from '../../model/authz-entry.js'
import type { Ir } from '../../model/ir.js'
import type { ProcEntry } from '../../model/proc-entry.js'
import type { ForwardAction, Route, ValueMatch } from '../../model/route.js'
import { matchText } from './check-steps.js'
import type { ExplainedRoute } from './explanation.js'

/** The table entries of a route; absent: it has none. */
export interface RouteEntries {
  readonly authz?: AuthzEntry | undefined
  readonly proc?: ProcEntry | undefined
  /** The webhooks that are audited. */
  readonly procAudit?: ProcEntry | undefined
}

/** Finds the entries that the route names. */
export const entriesOf = ({ authz, proc }: Pick<Ir, 'authz' | 'proc'>, route: Route) => ({
  authz: authz.find(({ key }) => key === route.authz),
  proc: proc.find(({ key }) => key === route.proc?.key),
  procAudit: proc.find(({ key }) => key === route.procAudit),
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

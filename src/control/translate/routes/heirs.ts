// Summarises the effect of the policies of Gateways on their routes, for the status of those policies.

import type { Work } from '../../../kit/turns.js'
import { namespaceIn } from '../../../model/names.js'
import { asSentence, nameFor } from '../../../model/status.js'
import type { HttpRouteSpec } from '../../schema/kinds/http-route.js'
import { tokenPolicies } from '../policies/attachments.js'
import type { Inherited } from '../policies/inheritance.js'
import type { Mcp } from '../policies/mcp.js'
import type { RouteScope } from './route-scopes.js'
import type { HttpRoute } from './rule-routes.js'
import { documentPaths, isMatched, mcpPathsOf } from './well-known-routes.js'

/** The effect of one policy of a Gateway on its routes. */
export interface Heirs {
  /** Number of HTTPRoutes on which a field of the policy is in force. */
  readonly inForce: number
  /** Number of HTTPRoutes on which a field of the policy is replaced. */
  readonly replaced: number
  /** Lists the replaced fields and the policies that replace them, for the first few routes of the policy's namespace. */
  readonly lines: readonly string[]
  /** Reasons why routes refuse because of the policy, or do not audit it, for the first few routes. */
  readonly faults: readonly string[]
  /** The first few routes on which mcp of the policy is in force and whose matches lack its documents. */
  readonly undocumented: readonly string[]
  /** Whether a route serves the documents of the configured resource, which are those of all routes. */
  readonly servesResource: boolean
}

/** Effects by key of the policy. */
export type HeirsOfAll = ReadonlyMap<string, Heirs>

/** The effect of a policy that no route inherits. */
export const NO_HEIRS: Heirs = {
  inForce: 0,
  replaced: 0,
  lines: [],
  faults: [],
  undocumented: [],
  servesResource: false,
}

/** Maximum number of lines of each kind; further routes are only counted. */
export const MOST_NAMED = 10

interface ScopedRoute {
  readonly key: string
  readonly route: HttpRoute
  readonly scopes: readonly RouteScope[]
}

/** Returns the effect of each policy of a Gateway on these routes. Yields after each: a Gateway may have many policies. */
export function* heirsOf(routes: readonly ScopedRoute[]): Work<HeirsOfAll> {
  let sums: HeirsOfAll = new Map()
  for (const { key, route, scopes } of routes)
    for (const scope of scopes) {
      if (scope.inherited.length === 0) continue
      sums = sumHeirs([sums, heirsIn({ key, spec: route.spec }, scope)])
      yield
    }
  return sums
}

function heirsIn(
  { key: route, spec }: { readonly key: string; readonly spec: HttpRouteSpec },
  { inherited, attachment }: RouteScope,
): HeirsOfAll {
  const mcps = new Map(tokenPolicies(attachment).map(({ key, jwt }) => [key, jwt?.mcp]))
  const unfit = new Set([...attachment.broken, ...(attachment.audit?.unfit ?? [])])
  return new Map(
    inherited.map((one) => {
      const sentence = unfit.has(one.policy) && attachment.conflicts.get(one.policy)
      const isFault = one.isValid && typeof sentence === 'string'
      return [
        one.policy,
        {
          inForce: one.inForce.length > 0 ? 1 : 0,
          replaced: one.replaced.length > 0 ? 1 : 0,
          lines:
            one.replaced.length > 0 && isOwn(one, route)
              ? [`Replaced: ${replacedText(one)} on HTTPRoute ${route}`]
              : [],
          faults: isFault ? [`${routeFor(one, route)}: ${sentence}`] : [],
          ...documentsIn(one, route, spec, mcps.get(one.policy)),
        },
      ]
    }),
  )
}

function documentsIn(
  policy: Inherited,
  route: string,
  spec: HttpRouteSpec,
  mcp: Mcp | undefined,
): Pick<Heirs, 'undocumented' | 'servesResource'> {
  if (mcp === undefined) return NO_HEIRS_DOCUMENTS
  const { resourceMetadata, ofServer } = documentPaths(mcp, mcpPathsOf(mcp, spec))
  const [first] = [resourceMetadata, ...ofServer].filter((path) => !isMatched(spec, path))
  const what = isOwn(policy, route) ? first : 'the paths of its documents'
  return first === undefined
    ? { undocumented: [], servesResource: mcp.resource !== undefined }
    : {
        undocumented: [
          `${routeFor(policy, route)} does not match ${what}: MCP clients cannot log in`,
        ],
        servesResource: false,
      }
}

const NO_HEIRS_DOCUMENTS = { undocumented: [], servesResource: false }

const replacedText = ({ policy, replaced }: Inherited): string =>
  replaced
    .map(({ field, by }) => `${field} by ${nameFor(namespaceIn(policy), 'ProxyPolicy', by)}`)
    .join(', ')

/** Whether the route is of the policy's namespace. */
const isOwn = ({ policy }: Inherited, route: string): boolean =>
  namespaceIn(route) === namespaceIn(policy)

/** Names the route for the policy's namespace. */
const routeFor = ({ policy }: Inherited, route: string): string =>
  asSentence(nameFor(namespaceIn(policy), 'HTTPRoute', route))

/** Adds up the effects on parts of the routes. */
export function sumHeirs(parts: readonly HeirsOfAll[]): HeirsOfAll {
  const sums = new Map<string, Heirs>()
  for (const [policy, one] of parts.flatMap((part) => [...part])) {
    const sum = sums.get(policy) ?? NO_HEIRS
    sums.set(policy, {
      inForce: sum.inForce + one.inForce,
      replaced: sum.replaced + one.replaced,
      lines: firstOf(sum.lines, one.lines),
      faults: firstOf(sum.faults, one.faults),
      undocumented: firstOf(sum.undocumented, one.undocumented),
      servesResource: sum.servesResource || one.servesResource,
    })
  }
  return sums
}

const firstOf = (before: readonly string[], more: readonly string[]): readonly string[] =>
  before.length >= MOST_NAMED ? before : [...new Set([...before, ...more])].slice(0, MOST_NAMED)

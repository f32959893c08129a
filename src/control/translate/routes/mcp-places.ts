// Where the clients of an MCP route ask: at its endpoint, and for its documents.

import type { Placement } from './route-parents.js'
import type { RouteScope } from './route-scopes.js'
import type { HttpRoute } from './rule-routes.js'
import { documentPaths, isMatched, mcpPathsOf } from './well-known-routes.js'

/** An MCP route in one of its scopes. */
export interface PlacedMcp {
  /** Key of the policy whose mcp is in force. */
  readonly policy: string
  /** NAMESPACE/NAME of the HTTPRoute. */
  readonly route: string
  readonly placements: readonly Placement[]
  /** The paths that its clients ask for and that the route matches. */
  readonly paths: readonly string[]
  /** The endpoint, if the route matches the paths below it, too. */
  readonly endpoint?: string
}

/** Returns the places of a route; none without mcp. key: of the route. */
export const mcpPlacesOf = (
  key: string,
  { spec }: HttpRoute,
  scopes: readonly RouteScope[],
): readonly PlacedMcp[] =>
  scopes.flatMap(({ attachment: { jwt }, placements }) => {
    const mcp = jwt?.jwt?.mcp
    if (jwt === undefined || mcp === undefined || placements.length === 0) return []
    const of = mcpPathsOf(mcp, spec)
    const { resourceMetadata, ofServer } = documentPaths(mcp, of)
    const paths = [of.mcpPath || '/', resourceMetadata, ...ofServer].filter((path) =>
      isMatched(spec, path),
    )
    const isPrefix = of.mcpPath !== '' && isMatched(spec, `${of.mcpPath}/-`)
    return [
      {
        policy: jwt.key,
        route: key,
        placements,
        paths,
        ...(isPrefix && { endpoint: of.mcpPath }),
      },
    ]
  })

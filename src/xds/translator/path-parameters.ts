// Some backends take /x;a/mcp for /x/mcp, so that a path parameter could lead around a protected route by a wider,
// public one. On a virtual host with a protected route, such paths are refused before anything else (decision 8).

import type { Chunk } from '../../incremental/chunked-list.js'
import { memo } from '../../incremental/memo.js'
import type { JsonObject } from '../../ir/json.js'
import type { Route } from '../../ir/route.js'
import { buildExtAuthzPerRoute } from './ext-authz.js'
import { EXT_AUTHZ_FILTER } from './filter-names.js'

/** Envoy matches it with the path alone, without the query. */
const WITH_PARAMETERS = '.*;.*'

/** A route that refuses may have been protected, had its policy been right. */
const isProtected = (route: Route): boolean =>
  route.authz !== undefined || route.action.type === 'refuse'

const someProtected = memo((routes: Chunk<Route>) => routes.some(isProtected))

/** envoy.config.route.v3.Route, none or one; it must come first. name, routes: of the virtual host. */
export const pathParameterRoutes = (
  name: string,
  routes: readonly Chunk<Route>[],
): readonly JsonObject[] =>
  !routes.some(someProtected)
    ? []
    : [
        {
          name: `${name}/path-parameters`,
          match: { safe_regex: { regex: WITH_PARAMETERS } },
          direct_response: {
            status: 400,
            body: { inline_string: 'path parameters (";") are not accepted here\n' },
          },
          typed_per_filter_config: { [EXT_AUTHZ_FILTER]: buildExtAuthzPerRoute({}) },
        },
      ]

// Some backends take /x;a/mcp for /x/mcp, so that a path parameter could lead around a protected route by a wider,
// public one. On a virtual host with a protected route, such paths are refused before anything else (decision 8).

import { create } from '@bufbuild/protobuf'
import {
  type Route as EnvoyRoute,
  RouteSchema,
} from '../../grpc/generated/envoy/config/route/v3/route_components_pb.js'
import type { Route } from '../../ir/route.js'
import { buildExtAuthzPerRoute } from './ext-authz.js'
import { EXT_AUTHZ_FILTER } from './filter-names.js'
import { inlineString } from './messages.js'

/** Envoy matches it with the path alone, without the query. */
const WITH_PARAMETERS = '.*;.*'

/** A route that refuses may have been protected, had its policy been right. */
export const isProtected = (route: Route): boolean =>
  route.authz !== undefined || route.action.type === 'refuse'

/** envoy.config.route.v3.Route of a virtual host with a protected route; it must come first. name: of the virtual host. */
export const pathParameterRoute = (name: string): EnvoyRoute =>
  create(RouteSchema, {
    name: `${name}/path-parameters`,
    match: { pathSpecifier: { case: 'safeRegex', value: { regex: WITH_PARAMETERS } } },
    action: {
      case: 'directResponse',
      value: {
        status: 400,
        body: inlineString('path parameters (";") are not accepted here\n'),
      },
    },
    typedPerFilterConfig: { [EXT_AUTHZ_FILTER]: buildExtAuthzPerRoute({}) },
  })

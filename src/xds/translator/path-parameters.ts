// Rejects path parameters. Some backends treat /x;a/mcp as /x/mcp, so a parameter could bypass a protected route
// through a wider, public one. On virtual hosts with a protected route, such paths are rejected first (decision 8).

import { create } from '@bufbuild/protobuf'
import {
  type Route as EnvoyRoute,
  RouteSchema,
} from '../../grpc/generated/envoy/config/route/v3/route_components_pb.js'
import { buildExtAuthzPerRoute } from './ext-authz.js'
import { inlineString } from './messages.js'

/** Envoy matches it against the path without the query. */
const WITH_PARAMETERS = '.*;.*'

/** envoy.config.route.v3.Route for the virtual host of this name, which has a protected route; it must come first. */
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
    typedPerFilterConfig: buildExtAuthzPerRoute({}),
  })

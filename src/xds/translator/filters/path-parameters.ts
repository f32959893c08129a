// Rejects path parameters. Some backends treat /x;a/mcp as /x/mcp, so a parameter could bypass a protected route
// through a wider, public one. On virtual hosts with a protected route, such paths are rejected first (decision 8).

import { create } from '@bufbuild/protobuf'
import type { Route } from '../../../model/route.js'
import {
  HeaderValueOption_HeaderAppendAction as AppendAction,
  HeaderValueOptionSchema,
} from '../../../wire/grpc/generated/envoy/config/core/v3/base_pb.js'
import {
  type Route as EnvoyRoute,
  RouteSchema,
} from '../../../wire/grpc/generated/envoy/config/route/v3/route_components_pb.js'
import { inlineString } from '../messages.js'
import { UNCHECKED } from './ext-authz.js'

/** Envoy matches it against the path without the query. */
const WITH_PARAMETERS = '.*;.*'

/** Whether the route is for MCP clients: its messages are read, or it has the OAuth documents of an MCP route. */
export const isForMcp = ({ authzBodyBytes, proc }: Route): boolean =>
  authzBodyBytes !== undefined || proc?.mode === 'well-known'

const TEXT = 'path parameters (";") are not accepted here'

/** A JSON-RPC error, without the id of a message: at any other 400, MCP clients assume a server of an older revision. */
const MCP_BODY = JSON.stringify({
  jsonrpc: '2.0',
  id: null,
  error: { code: -32_600, message: `Bad request: ${TEXT}` },
})

const JSON_TYPE = create(HeaderValueOptionSchema, {
  header: { key: 'content-type', value: 'application/json' },
  appendAction: AppendAction.OVERWRITE_IF_EXISTS_OR_ADD,
})

/**
 * envoy.config.route.v3.Route without a name, for virtual hosts with a protected route. It must come first.
 * hasMcp: whether the host has a route that isForMcp().
 */
export const pathParameterRoute = (hasMcp: boolean): EnvoyRoute =>
  create(RouteSchema, {
    match: { pathSpecifier: { case: 'safeRegex', value: { regex: WITH_PARAMETERS } } },
    action: {
      case: 'directResponse',
      value: {
        status: 400,
        body: inlineString(hasMcp ? MCP_BODY : `${TEXT}\n`),
      },
    },
    ...(hasMcp ? { responseHeadersToAdd: [JSON_TYPE] } : {}),
    typedPerFilterConfig: UNCHECKED,
  })

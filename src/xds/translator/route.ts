// Builds Envoy's Route: its match, its action, and the configuration of each filter.

import { create } from '@bufbuild/protobuf'
import { ANSWERED_CLUSTER } from '../../model/names.js'
import type { Route } from '../../model/route.js'
import {
  DirectResponseActionSchema,
  type Route as EnvoyRoute,
  RouteActionSchema,
  RouteSchema,
} from '../../wire/grpc/generated/envoy/config/route/v3/route_components_pb.js'
import { CORS_RESPONSE_HEADERS, corsHeaders } from './filters/cors.js'
import { perFilterConfig } from './filters/filters.js'
import { buildRefusal } from './filters/local-reply.js'
import { buildForward } from './forward.js'
import { headerFields } from './headers.js'
import { type FieldsOf, inlineString } from './messages.js'
import { buildRedirect } from './redirect.js'
import { headersOfRoute } from './request-headers.js'
import type { RouteContext } from './route-context.js'
import { buildRouteMatch } from './route-match.js'

function actionOf(route: Route, context: RouteContext): FieldsOf<typeof RouteSchema>['action'] {
  const { action } = route
  switch (action.type) {
    case 'forward':
      return { case: 'route', value: buildForward(action, route) }
    case 'redirect':
      return { case: 'redirect', value: buildRedirect(action, route.match.path, context) }
    case 'refuse':
      return { case: 'route', value: buildRefusal(action) }
    case 'answered':
      return { case: 'route', value: ANSWERED }
    case 'misdirected':
      return { case: 'directResponse', value: MISDIRECTED }
  }
}

/** Fails closed: ext_proc answers before the router; if it ever does not, this cluster has no endpoints. */
const ANSWERED = create(RouteActionSchema, {
  clusterSpecifier: { case: 'cluster', value: ANSWERED_CLUSTER },
})

const MISDIRECTED = create(DirectResponseActionSchema, {
  status: 421,
  body: inlineString('this host is served on a connection of its own\n'),
})

const isRedirect = ({ action }: Route): boolean => action.type === 'redirect'

const replacedResponseHeaders = (route: Route): readonly string[] =>
  route.action.type === 'forward' && route.action.replaceBackendCors ? CORS_RESPONSE_HEADERS : []

/** envoy.config.route.v3.Route */
export function buildRoute(route: Route, context: RouteContext): EnvoyRoute {
  const headers = headerFields(
    { ...route, requestHeaders: headersOfRoute(route) },
    replacedResponseHeaders(route),
  )
  const cors = isRedirect(route) && route.cors !== undefined ? corsHeaders(route.cors) : []
  return create(RouteSchema, {
    name: route.name,
    match: buildRouteMatch(route.match),
    action: actionOf(route, context),
    ...headers,
    responseHeadersToAdd: [...headers.responseHeadersToAdd, ...cors],
    typedPerFilterConfig: perFilterConfig(route),
  })
}

// Route → Envoy's Route: what it matches, what it does, and what each filter must know of it.

import type { Json, JsonObject } from '../../ir/json.js'
import { ANSWERED_CLUSTER } from '../../ir/names.js'
import type { Route } from '../../ir/route.js'
import { buildCorsPolicy, CORS_RESPONSE_HEADERS } from './cors.js'
import { buildExtAuthzPerRoute } from './ext-authz.js'
import { buildExtProcPerRoute } from './ext-proc.js'
import { CORS_FILTER, EXT_AUTHZ_FILTER, EXT_PROC_FILTER } from './filter-names.js'
import { buildForward } from './forward.js'
import { headerFields } from './headers.js'
import { jsonObject } from './json-object.js'
import { buildRefusal } from './local-reply.js'
import { buildRedirect } from './redirect.js'
import { headersOfRoute } from './request-headers.js'
import type { RouteContext } from './route-context.js'
import { buildRouteMatch } from './route-match.js'

function actionField(route: Route, context: RouteContext): JsonObject {
  const { action } = route
  switch (action.type) {
    case 'forward':
      return { route: buildForward(action, route) }
    case 'redirect':
      return { redirect: buildRedirect(action, route.match.path, context) }
    case 'refuse':
      return { route: buildRefusal(action) }
    case 'answered':
      return { route: { cluster: ANSWERED_CLUSTER } }
    case 'misdirected':
      return { direct_response: MISDIRECTED }
  }
}

/** envoy.config.route.v3.DirectResponseAction */
const MISDIRECTED: JsonObject = {
  status: 421,
  body: { inline_string: 'this host is served on a connection of its own\n' },
}

const perFilterConfig = (route: Route): Readonly<Record<string, Json>> =>
  jsonObject({
    [CORS_FILTER]: route.cors && buildCorsPolicy(route.cors),
    [EXT_AUTHZ_FILTER]: buildExtAuthzPerRoute(route),
    [EXT_PROC_FILTER]: route.proc && buildExtProcPerRoute(route.proc),
  })

const replacedResponseHeaders = (route: Route): readonly string[] =>
  route.action.type === 'forward' && route.action.replaceBackendCors ? CORS_RESPONSE_HEADERS : []

/** envoy.config.route.v3.Route */
export const buildRoute = (route: Route, context: RouteContext): JsonObject => ({
  name: route.name,
  match: buildRouteMatch(route.match),
  ...actionField(route, context),
  ...jsonObject(
    headerFields(
      { ...route, requestHeaders: headersOfRoute(route) },
      replacedResponseHeaders(route),
    ),
  ),
  typed_per_filter_config: perFilterConfig(route),
})

// One JSON line per request on Envoy's standard output. No header or claim values: they may be secrets.

import type { JsonObject } from '../../ir/json.js'
import { any } from './json-object.js'

/** envoy.config.accesslog.v3.AccessLog */
export const buildAccessLog = (): JsonObject => ({
  name: 'envoy.access_loggers.stdout',
  typed_config: any('envoy.extensions.access_loggers.stream.v3.StdoutAccessLog', {
    log_format: {
      json_format: {
        start: '%START_TIME%',
        method: '%REQ(:METHOD)%',
        authority: '%REQ(:AUTHORITY)%',
        path: '%PATH(NQ)%',
        route: '%ROUTE_NAME%',
        status: '%RESPONSE_CODE%',
        details: '%RESPONSE_CODE_DETAILS%',
        duration_ms: '%DURATION%',
        upstream: '%UPSTREAM_HOST%',
        request_id: '%REQ(X-REQUEST-ID)%',
      },
    },
  }),
})

// What we set of Envoy's runtime, in every configuration of an Envoy that we write.

import type { JsonObject } from '../../ir/json.js'

/**
 * envoy.config.bootstrap.v3.LayeredRuntime. Envoy's own limit of 100 instructions refuses patterns as plain as
 * [0-9a-f]{64}, and with one of them the whole route configuration; how long patterns may be is checked before.
 * Without the graceful close Envoy resets every ext_proc stream when it is done, and Node's HTTP/2 takes resets for an
 * attack: after a thousand of them it ends the connection, and with it the requests under way. The timeout is how long
 * a request whose client has left may still go on here.
 * The admin layer is what Envoy has without any of this.
 */
export const LAYERED_RUNTIME: JsonObject = {
  layers: [
    {
      name: 'gatehouse',
      static_layer: {
        're2.max_program_size.error_level': 10_000,
        're2.max_program_size.warn_level': 10_000,
        'envoy.reloadable_features.ext_proc_graceful_grpc_close': true,
        'envoy.filters.http.ext_proc.remote_close_timeout_milliseconds': 200,
      },
    },
    { name: 'admin', admin_layer: {} },
  ],
}

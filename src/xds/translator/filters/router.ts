// Envoy's router, which sends requests to their backends: always the last filter.

import { create } from '@bufbuild/protobuf'
import { RouterSchema } from '../../../wire/grpc/generated/envoy/extensions/filters/http/router/v3/router_pb.js'
import { HttpFilterSchema } from '../../../wire/grpc/generated/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js'
import { typedConfig } from '../messages.js'
import type { FilterDefinition } from './filter.js'

/** Name of the router. */
export const ROUTER_FILTER = 'envoy.filters.http.router'

/** Envoy's router. */
export const routerFilter: FilterDefinition = {
  name: ROUTER_FILTER,
  listener: () =>
    create(HttpFilterSchema, {
      name: ROUTER_FILTER,
      configType: typedConfig(RouterSchema, { suppressEnvoyHeaders: true }),
    }),
}

// What an HTTP filter of Envoy is made of here: its part of every listener, and its part of each route.

import type { Any } from '@bufbuild/protobuf/wkt'
import type { Route } from '../../../model/route.js'
import type { HttpFilter } from '../../../wire/grpc/generated/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js'

/** An HTTP filter; filters.ts has all of them. */
export interface FilterDefinition {
  /** Its name in listeners and in typed_per_filter_config. */
  readonly name: string
  /** envoy.extensions.filters.network.http_connection_manager.v3.HttpFilter, the same in every listener. */
  readonly listener: () => HttpFilter
  /** Its typed_per_filter_config of a route; undefined, also as a result: what the listener says holds. */
  readonly route?: (route: Route) => Any | undefined
}

// Detects routing loops: each pass through the gateway lengthens the value of a header (ir/hops.ts), and a request that
// has passed too often is answered 508.

import { create } from '@bufbuild/protobuf'
import { COPY_HOPS, HOP, HOPS_HEADER, LOOP_DETECTED, MAX_HOPS } from '../../model/hops.js'
import {
  type HeaderMutation,
  HeaderMutationSchema,
} from '../../wire/grpc/generated/envoy/config/common/mutation_rules/v3/mutation_rules_pb.js'
import {
  HeaderValueOption_HeaderAppendAction as AppendAction,
  HeaderValueOptionSchema,
} from '../../wire/grpc/generated/envoy/config/core/v3/base_pb.js'
import {
  type Route,
  RouteSchema,
} from '../../wire/grpc/generated/envoy/config/route/v3/route_components_pb.js'
import { UNCHECKED } from './filters/ext-authz.js'
import { inlineString, matching } from './messages.js'

/** Applies to the whole route configuration: added last, as the request leaves, so no rule reads it earlier. */
export const COUNT_HOPS = create(HeaderValueOptionSchema, {
  header: { key: HOPS_HEADER, value: `%REQ(${HOPS_HEADER})%${HOP}` },
  appendAction: AppendAction.OVERWRITE_IF_EXISTS_OR_ADD,
})

/** Applies to copies of a request, which have its headers as they leave. */
export const COUNT_COPY: HeaderMutation = create(HeaderMutationSchema, {
  action: {
    case: 'append',
    value: {
      header: { key: HOPS_HEADER, value: `%REQ(${HOPS_HEADER})%${COPY_HOPS}` },
      appendAction: AppendAction.OVERWRITE_IF_EXISTS_OR_ADD,
    },
  },
})

/** Matches one growing value rather than repeated headers, as Envoy matches each value of a header separately. */
const TOO_MANY = `.{${String(MAX_HOPS)},}`

/** envoy.config.route.v3.Route without a name. It must come first in each virtual host. */
export const TOO_MANY_HOPS: Route = create(RouteSchema, {
  match: {
    pathSpecifier: { case: 'prefix', value: '/' },
    headers: [
      {
        name: HOPS_HEADER,
        headerMatchSpecifier: { case: 'stringMatch', value: matching(TOO_MANY) },
      },
    ],
  },
  action: {
    case: 'directResponse',
    value: {
      status: LOOP_DETECTED,
      body: inlineString(
        'this request has passed the gateway too often: a route leads back to it\n',
      ),
    },
  },
  typedPerFilterConfig: UNCHECKED,
})

// Refuses requests for more than one host: Envoy joins the Host headers of an HTTP/1.1 request with a comma, and would
// pass that on where a route takes any host. RFC 9112, section 3.2: such a request is answered 400.

import { create } from '@bufbuild/protobuf'
import {
  RBAC_Action,
  RBACSchema as RulesSchema,
} from '../../../wire/grpc/generated/envoy/config/rbac/v3/rbac_pb.js'
import type { HeaderMatcherSchema } from '../../../wire/grpc/generated/envoy/config/route/v3/route_components_pb.js'
import { RBACSchema } from '../../../wire/grpc/generated/envoy/extensions/filters/http/rbac/v3/rbac_pb.js'
import {
  type HttpFilter,
  HttpFilterSchema,
} from '../../../wire/grpc/generated/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js'
import { type FieldsOf, typedConfig } from '../messages.js'
import type { FilterDefinition } from './filter.js'

/** Refuses requests for more than one host. */
const ONE_HOST_FILTER = 'gatehouse.one_host'

/** Matches requests for more than one host. No host name has a comma. */
export const HAS_SEVERAL_HOSTS: FieldsOf<typeof HeaderMatcherSchema> = {
  name: ':authority',
  headerMatchSpecifier: {
    case: 'stringMatch',
    value: { matchPattern: { case: 'contains', value: ',' } },
  },
}

/** envoy.extensions.filters.http.rbac.v3.RBAC. Its 403 is mapped to 400 (local-reply.ts). */
const buildOneHostFilter = (): HttpFilter =>
  create(HttpFilterSchema, {
    name: ONE_HOST_FILTER,
    configType: typedConfig(RBACSchema, {
      rules: create(RulesSchema, {
        action: RBAC_Action.DENY,
        policies: {
          'several-hosts': {
            permissions: [{ rule: { case: 'header', value: HAS_SEVERAL_HOSTS } }],
            principals: [{ identifier: { case: 'any', value: true } }],
          },
        },
      }),
    }),
  })

/** Refuses requests for more than one host, on every route. */
export const oneHostFilter: FilterDefinition = {
  name: ONE_HOST_FILTER,
  listener: buildOneHostFilter,
}

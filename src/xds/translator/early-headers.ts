// Removes headers that only Gatehouse or Envoy may set from every request, before any filter or route sees them.

import { create } from '@bufbuild/protobuf'
import {
  type TypedExtensionConfig,
  TypedExtensionConfigSchema,
} from '../../grpc/generated/envoy/config/core/v3/extension_pb.js'
import { HeaderMutationSchema } from '../../grpc/generated/envoy/extensions/http/early_header_mutation/header_mutation/v3/header_mutation_pb.js'
import { packed } from './messages.js'

const REMOVED_PREFIX = 'x-gatehouse-'

/** Envoy's own headers to ext_authz servers and backends, worth forging (CVE-2023-27487 for the path). */
const REMOVED_HEADERS = [
  'x-envoy-auth-partial-body',
  'x-envoy-original-host',
  'x-envoy-original-path',
]

/** envoy.config.core.v3.TypedExtensionConfig */
export const buildEarlyHeaderMutation = (): TypedExtensionConfig =>
  create(TypedExtensionConfigSchema, {
    name: 'envoy.http.early_header_mutation.header_mutation',
    typedConfig: packed(HeaderMutationSchema, {
      mutations: [
        {
          action: {
            case: 'removeOnMatch',
            value: {
              keyMatcher: {
                matchPattern: { case: 'prefix', value: REMOVED_PREFIX },
                ignoreCase: true,
              },
            },
          },
        },
        ...REMOVED_HEADERS.map((name) => ({
          action: { case: 'remove' as const, value: name },
        })),
      ],
    }),
  })

// Removes headers that only Gatehouse or Envoy may set from every request, before any filter or route sees them.

import { create } from '@bufbuild/protobuf'
import {
  type TypedExtensionConfig,
  TypedExtensionConfigSchema,
} from '../../grpc/generated/envoy/config/core/v3/extension_pb.js'
import { HeaderMutationSchema } from '../../grpc/generated/envoy/extensions/http/early_header_mutation/header_mutation/v3/header_mutation_pb.js'
import { RESERVED_HEADERS, RESERVED_PREFIX } from '../../ir/reserved-headers.js'
import { packed } from './messages.js'

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
                matchPattern: { case: 'prefix', value: RESERVED_PREFIX },
                ignoreCase: true,
              },
            },
          },
        },
        ...RESERVED_HEADERS.map((name) => ({
          action: { case: 'remove' as const, value: name },
        })),
      ],
    }),
  })

// The HTTP filters of the clusters that lead to Gatehouse, for an Envoy that proves who it is by a token: they add it to
// each call, from a file that Envoy follows. Health checks pass no filters, and so have no token.

import { create } from '@bufbuild/protobuf'
import type { JsonObject } from '../../model/json.js'
import { ENVOY_TOKEN_HEADER } from '../../model/names.js'
import {
  ApiVersion,
  ConfigSourceSchema,
} from '../../wire/grpc/generated/envoy/config/core/v3/config_source_pb.js'
import { CredentialInjectorSchema } from '../../wire/grpc/generated/envoy/extensions/filters/http/credential_injector/v3/credential_injector_pb.js'
import { UpstreamCodecSchema } from '../../wire/grpc/generated/envoy/extensions/filters/http/upstream_codec/v3/upstream_codec_pb.js'
import {
  type HttpFilter,
  HttpFilterSchema,
} from '../../wire/grpc/generated/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js'
import { GenericSchema } from '../../wire/grpc/generated/envoy/extensions/http/injected_credentials/generic/v3/generic_pb.js'
import { SecretSchema } from '../../wire/grpc/generated/envoy/extensions/transport_sockets/tls/v3/secret_pb.js'
import { messageJson } from '../encode/read.js'
import { fileSource, packed, typedConfig } from '../translator/messages.js'

/** Where an Envoy finds its token; paths are on Envoy's machine. */
export interface TokenSource {
  /** The file with tokenSecret(), which names the token's file. */
  readonly secretFile: string
  /** The folder of the token's file. Envoy reads the token again when something is moved in it. */
  readonly folder: string
}

const SECRET_NAME = 'gatehouse-token'

/** Returns the filters of a cluster. */
export const tokenFilters = ({ secretFile, folder }: TokenSource): HttpFilter[] => [
  create(HttpFilterSchema, {
    name: 'envoy.filters.http.credential_injector',
    configType: typedConfig(CredentialInjectorSchema, {
      overwrite: true,
      credential: {
        name: 'envoy.http.injected_credentials.generic',
        typedConfig: packed(GenericSchema, {
          header: ENVOY_TOKEN_HEADER,
          credential: {
            name: SECRET_NAME,
            sdsConfig: create(ConfigSourceSchema, {
              configSourceSpecifier: {
                case: 'pathConfigSource',
                value: { path: secretFile, watchedDirectory: { path: folder } },
              },
              resourceApiVersion: ApiVersion.V3,
            }),
          },
        }),
      },
    }),
  }),
  create(HttpFilterSchema, {
    name: 'envoy.filters.http.upstream_codec',
    configType: typedConfig(UpstreamCodecSchema, {}),
  }),
]

/** Returns the content of the file that names the token's file, as Envoy reads it. */
export const tokenSecret = (tokenFile: string): JsonObject => ({
  resources: [
    {
      '@type': `type.googleapis.com/${SecretSchema.typeName}`,
      ...messageJson(
        SecretSchema,
        create(SecretSchema, {
          name: SECRET_NAME,
          type: { case: 'genericSecret', value: { secret: fileSource(tokenFile) } },
        }),
      ),
    },
  ],
})

// DownstreamTls → Envoy's TLS transport socket of a filter chain; certificates come over SDS.

import type { Certificate, DownstreamTls } from '../../ir/ir.js'
import type { JsonObject } from '../../ir/json.js'
import { ADS_SOURCE, any } from './json-object.js'

/** envoy.config.core.v3.TransportSocket */
export const buildDownstreamTls = (tls: DownstreamTls): JsonObject => ({
  name: 'envoy.transport_sockets.tls',
  typed_config: any('envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext', {
    common_tls_context: {
      tls_params: { tls_minimum_protocol_version: 'TLSv1_2' },
      alpn_protocols: ['h2', 'http/1.1'],
      tls_certificate_sds_secret_configs: tls.certificates.map((name) => ({
        name,
        sds_config: ADS_SOURCE,
      })),
    },
  }),
})

/** envoy.extensions.transport_sockets.tls.v3.Secret. Holds the private key: never logged or dumped. */
export const buildSecret = (certificate: Certificate): JsonObject =>
  any('envoy.extensions.transport_sockets.tls.v3.Secret', {
    name: certificate.name,
    tls_certificate: {
      certificate_chain: { inline_string: certificate.certificateChain },
      private_key: { inline_string: certificate.privateKey },
    },
  })

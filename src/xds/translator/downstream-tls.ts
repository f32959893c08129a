// Builds Envoy's TLS transport socket of a filter chain; certificates are delivered over SDS.

import { create } from '@bufbuild/protobuf'
import type { Certificate, ClientTls, DownstreamTls } from '../../model/ir.js'
import {
  type TransportSocket,
  TransportSocketSchema,
} from '../../wire/grpc/generated/envoy/config/core/v3/base_pb.js'
import {
  CertificateValidationContext_TrustChainVerification as TrustChainVerification,
  CertificateValidationContextSchema,
  TlsParameters_TlsProtocol,
} from '../../wire/grpc/generated/envoy/extensions/transport_sockets/tls/v3/common_pb.js'
import {
  type Secret,
  SecretSchema,
} from '../../wire/grpc/generated/envoy/extensions/transport_sockets/tls/v3/secret_pb.js'
import { DownstreamTlsContextSchema } from '../../wire/grpc/generated/envoy/extensions/transport_sockets/tls/v3/tls_pb.js'
import { ADS_SOURCE, inlineString, typedConfig } from './messages.js'

/** envoy.config.core.v3.TransportSocket */
export const buildDownstreamTls = (tls: DownstreamTls): TransportSocket =>
  create(TransportSocketSchema, {
    name: 'envoy.transport_sockets.tls',
    configType: typedConfig(DownstreamTlsContextSchema, {
      ...(tls.clients?.isRequired === true ? { requireClientCertificate: true } : {}),
      commonTlsContext: {
        tlsParams: { tlsMinimumProtocolVersion: TlsParameters_TlsProtocol.TLSv1_2 },
        alpnProtocols: ['h2', 'http/1.1'],
        tlsCertificateSdsSecretConfigs: tls.certificates.map((name) => ({
          name,
          sdsConfig: ADS_SOURCE,
        })),
        ...(tls.clients === undefined ? {} : { validationContextType: validationOf(tls.clients) }),
      },
    }),
  })

const validationOf = (clients: ClientTls) =>
  ({
    case: 'validationContext',
    value: create(CertificateValidationContextSchema, {
      trustedCa: inlineString(clients.authorities),
      trustChainVerification: clients.isRequired
        ? TrustChainVerification.VERIFY_TRUST_CHAIN
        : TrustChainVerification.ACCEPT_UNTRUSTED,
    }),
  }) as const

/** envoy.extensions.transport_sockets.tls.v3.Secret. It has the private key and must never be logged or dumped. */
export const buildSecret = (certificate: Certificate): Secret =>
  create(SecretSchema, {
    name: certificate.name,
    type: {
      case: 'tlsCertificate',
      value: {
        certificateChain: inlineString(certificate.certificateChain),
        privateKey: inlineString(certificate.privateKey),
      },
    },
  })

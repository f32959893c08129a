// Builds Envoy's TLS transport socket of a cluster: the trusted authorities, and the name required in the certificate.

import { isIP } from 'node:net'
import { create } from '@bufbuild/protobuf'
import type { Destination, SubjectAltName, UpstreamTls } from '../../model/destination.js'
import {
  type DataSource,
  type TransportSocket,
  TransportSocketSchema,
} from '../../wire/grpc/generated/envoy/config/core/v3/base_pb.js'
import {
  type SubjectAltNameMatcher,
  SubjectAltNameMatcher_SanType as SanType,
  SubjectAltNameMatcherSchema,
  TlsParameters_TlsProtocol,
} from '../../wire/grpc/generated/envoy/extensions/transport_sockets/tls/v3/common_pb.js'
import { UpstreamTlsContextSchema } from '../../wire/grpc/generated/envoy/extensions/transport_sockets/tls/v3/tls_pb.js'
import { ADS_SOURCE, exactly, fileSource, inlineString, typedConfig } from './messages.js'

const sanMatcher = (sanType: SanType, value: string): SubjectAltNameMatcher =>
  create(SubjectAltNameMatcherSchema, { sanType, matcher: exactly(value) })

/** Returns a matcher of a DNS name, to which wildcards of the certificate apply, or of an IP address. */
export const nameMatcher = (name: string): SubjectAltNameMatcher =>
  sanMatcher(isIP(name) === 0 ? SanType.DNS : SanType.IP_ADDRESS, name)

const subjectAltNameMatcher = ({ type, value }: SubjectAltName): SubjectAltNameMatcher =>
  type === 'URI' ? sanMatcher(SanType.URI, value) : nameMatcher(value)

const sanMatchers = (tls: UpstreamTls): SubjectAltNameMatcher[] =>
  tls.subjectAltNames.length === 0
    ? [nameMatcher(tls.hostname)]
    : tls.subjectAltNames.map(subjectAltNameMatcher)

const trustedCa = (tls: UpstreamTls, systemCaFile: string): DataSource =>
  tls.authorities === 'System' ? fileSource(systemCaFile) : inlineString(tls.authorities.pem)

/** Returns the SNI of a handshake; "" for an IP address, which is not allowed there (RFC 6066 section 3). */
export const serverName = (hostname: string): string => (isIP(hostname) === 0 ? hostname : '')

/** envoy.config.core.v3.TransportSocket */
export const buildUpstreamTls = (
  tls: UpstreamTls,
  protocol: Destination['protocol'],
  systemCaFile: string,
): TransportSocket =>
  create(TransportSocketSchema, {
    name: 'envoy.transport_sockets.tls',
    configType: typedConfig(UpstreamTlsContextSchema, {
      sni: serverName(tls.hostname),
      commonTlsContext: {
        tlsParams: { tlsMinimumProtocolVersion: TlsParameters_TlsProtocol.TLSv1_2 },
        alpnProtocols: [protocol === 'http2' ? 'h2' : 'http/1.1'],
        ...(tls.certificate === undefined
          ? {}
          : {
              tlsCertificateSdsSecretConfigs: [{ name: tls.certificate, sdsConfig: ADS_SOURCE }],
            }),
        validationContextType: {
          case: 'validationContext',
          value: {
            trustedCa: trustedCa(tls, systemCaFile),
            matchTypedSubjectAltNames: sanMatchers(tls),
          },
        },
      },
    }),
  })

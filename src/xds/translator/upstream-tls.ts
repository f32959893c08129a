// UpstreamTls → Envoy's TLS transport socket of a cluster: who signed, and which name the certificate must carry.

import { isIP } from 'node:net'
import type { Destination, SubjectAltName, UpstreamTls } from '../../ir/destination.js'
import type { JsonObject } from '../../ir/json.js'
import { any, jsonObject } from './json-object.js'

/** envoy.extensions.transport_sockets.tls.v3.SubjectAltNameMatcher; for DNS, wildcards of the certificate count. */
const sanMatcher = (sanType: string, value: string): JsonObject => ({
  san_type: sanType,
  matcher: { exact: value },
})

const nameMatcher = (name: string): JsonObject =>
  sanMatcher(isIP(name) === 0 ? 'DNS' : 'IP_ADDRESS', name)

const subjectAltNameMatcher = ({ type, value }: SubjectAltName): JsonObject =>
  type === 'URI' ? sanMatcher('URI', value) : nameMatcher(value)

const sanMatchers = (tls: UpstreamTls): readonly JsonObject[] =>
  tls.subjectAltNames.length === 0
    ? [nameMatcher(tls.hostname)]
    : tls.subjectAltNames.map(subjectAltNameMatcher)

const trustedCa = (tls: UpstreamTls, systemCaFile: string): JsonObject =>
  tls.authorities === 'System' ? { filename: systemCaFile } : { inline_string: tls.authorities.pem }

/** envoy.config.core.v3.TransportSocket. An IP address is no SNI (RFC 6066 section 3). */
export const buildUpstreamTls = (
  tls: UpstreamTls,
  protocol: Destination['protocol'],
  systemCaFile: string,
): JsonObject => ({
  name: 'envoy.transport_sockets.tls',
  typed_config: any('envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext', {
    ...jsonObject({ sni: isIP(tls.hostname) === 0 ? tls.hostname : undefined }),
    common_tls_context: {
      tls_params: { tls_minimum_protocol_version: 'TLSv1_2' },
      alpn_protocols: [protocol === 'http2' ? 'h2' : 'http/1.1'],
      validation_context: {
        trusted_ca: trustedCa(tls, systemCaFile),
        match_typed_subject_alt_names: sanMatchers(tls),
      },
    },
  }),
})

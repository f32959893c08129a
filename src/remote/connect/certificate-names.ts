// Checks the names in a peer's certificate against a BackendTLSPolicy: its hostname, or any of the subjectAltNames.

import { checkServerIdentity, type PeerCertificate } from 'node:tls'
import { GatehouseError } from '../../errors.js'
import type { UpstreamTls } from '../../ir/destination.js'

/** Returns undefined if the certificate matches, otherwise an error for tls.connect. Does not throw. */
export function checkCertificateNames(
  tls: UpstreamTls,
  certificate: PeerCertificate,
): Error | undefined {
  try {
    return checkNames(tls, certificate)
  } catch {
    return new CertificateNameError()
  }
}

function checkNames(tls: UpstreamTls, certificate: PeerCertificate): Error | undefined {
  if (tls.subjectAltNames.length === 0) return checkServerIdentity(tls.hostname, certificate)
  const uris = certificateUris(certificate.subjectaltname ?? '')
  const fits = tls.subjectAltNames.some(({ type, value }) =>
    type === 'URI' ? uris.includes(value) : checkServerIdentity(value, certificate) === undefined,
  )
  return fits ? undefined : new CertificateNameError()
}

class CertificateNameError extends GatehouseError {
  readonly code = 'ERR_TLS_CERT_ALTNAME_INVALID'

  constructor() {
    super('the certificate carries none of the expected names')
  }
}

/** Parses Node's "DNS:a, URI:b", in which a value with a comma or a quote is a JSON string. */
const certificateUris = (subjectAltName: string): string[] =>
  [...subjectAltName.matchAll(/(?:^|, )([A-Za-z ]+):("(?:[^"\\]|\\.)*"|[^,"]*)/gy)]
    .filter(([, type]) => type === 'URI')
    .map(([, , value = '']) => (value.startsWith('"') ? (JSON.parse(value) as string) : value))

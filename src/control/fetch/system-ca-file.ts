// Finds the file with the system's certificate authorities.

import { existsSync } from 'node:fs'

/** CA bundles of Debian (and Envoy's images), Fedora, SUSE, Alpine and macOS. */
const BUNDLES: readonly [string, ...string[]] = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/ca-bundle.pem',
  '/etc/ssl/cert.pem',
]

/** CA bundle for an Envoy that runs elsewhere: the one of Envoy's own image. */
export const ENVOY_CA_FILE = BUNDLES[0]

/** CA bundle of this machine: SSL_CERT_FILE, as OpenSSL reads it, else the distribution's. */
export function systemCaFile(environment: Readonly<Record<string, string | undefined>>): string {
  const named = environment['SSL_CERT_FILE']
  if (named !== undefined && named !== '') return named
  return BUNDLES.find((path) => existsSync(path)) ?? ENVOY_CA_FILE
}

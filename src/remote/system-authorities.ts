// The operating system's certificate authorities (BackendTLSPolicy wellKnownCACertificates: System) as one TLS context.

import { readFileSync } from 'node:fs'
import { createSecureContext, rootCertificates, type SecureContext } from 'node:tls'

/** Where distributions keep their bundle: Debian, Fedora, SUSE, Alpine and macOS. */
const BUNDLES: readonly string[] = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/ca-bundle.pem',
  '/etc/ssl/cert.pem',
]

let context: SecureContext | undefined

/** Read once, at the first use: hundreds of certificates, and they change with the image only. */
export const systemAuthorities = (): SecureContext => {
  context ??= createSecureContext({ ca: [...rootCertificates, ...systemBundle()] })
  return context
}

const systemBundle = (): string[] => {
  for (const path of BUNDLES) {
    try {
      return [readFileSync(path, 'utf8')]
    } catch {
      // The next distribution's; with none of them Node's own list remains.
    }
  }
  return []
}

// A TLS context with the operating system's certificate authorities (BackendTLSPolicy wellKnownCACertificates: System).

import { readFileSync } from 'node:fs'
import { createSecureContext, rootCertificates, type SecureContext } from 'node:tls'

/**
 * Trusts Node's own list and the system's bundle in file (PEM), if readable. The bundle is read once, at the first use:
 * it has hundreds of certificates, and changes only with the image.
 */
export function systemAuthorities(file: string): () => SecureContext {
  let context: SecureContext | undefined
  return () => (context ??= createSecureContext({ ca: [...rootCertificates, ...bundle(file)] }))
}

function bundle(file: string): string[] {
  try {
    return [readFileSync(file, 'utf8')]
  } catch {
    return []
  }
}

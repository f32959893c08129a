// The operating system's certificate authorities (BackendTLSPolicy wellKnownCACertificates: System) as one TLS context.

import { readFileSync } from 'node:fs'
import { createSecureContext, rootCertificates, type SecureContext } from 'node:tls'

/**
 * file: the system's bundle (PEM), beside Node's own list; where it cannot be read, that list alone. Read once, at the
 * first use: hundreds of certificates, and they change with the image only.
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

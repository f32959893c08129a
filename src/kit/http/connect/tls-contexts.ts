// TLS contexts of outgoing connections: made once for the authorities that they trust, as a megabyte of them takes 100 ms
// and 7 MB.

import { readFileSync } from 'node:fs'
import {
  createSecureContext,
  DEFAULT_CIPHERS,
  rootCertificates,
  type SecureContext,
} from 'node:tls'
import type { UpstreamTls } from '../../../model/destination.js'

/** Returns the context that trusts these authorities. @throws for authorities that cannot be used. */
export type TlsContexts = (authorities: UpstreamTls['authorities']) => SecureContext

/** Characters in PEM of the authorities whose contexts are kept. */
const MOST_KEPT = 8 * 1024 * 1024

/** Without finite-field Diffie-Hellman, of which a server may choose a group that takes the client a second. */
const CIPHERS = `${DEFAULT_CIPHERS}:!DHE`

/**
 * "System" is Node's own list and the system's bundle in caFile (PEM), if readable. It is read once, at the first use:
 * it has hundreds of certificates, and changes only with the image.
 */
export function createTlsContexts(caFile: string): TlsContexts {
  /** By their text, the one used last at the end. */
  const kept = new Map<string, SecureContext>()
  let keptLength = 0
  let ofSystem: SecureContext | undefined

  const keep = (pem: string, context: SecureContext): void => {
    kept.set(pem, context)
    keptLength += pem.length
    for (const oldest of kept.keys()) {
      if (keptLength <= MOST_KEPT) return
      kept.delete(oldest)
      keptLength -= oldest.length
    }
  }

  return (authorities) => {
    if (authorities === 'System')
      return (ofSystem ??= contextOf([...rootCertificates, ...bundle(caFile)]))
    const { pem } = authorities
    const known = kept.get(pem)
    const context = known ?? contextOf([pem])
    if (kept.delete(pem)) keptLength -= pem.length
    keep(pem, context)
    return context
  }
}

const contextOf = (ca: string[]): SecureContext => createSecureContext({ ca, ciphers: CIPHERS })

function bundle(file: string): string[] {
  try {
    return [readFileSync(file, 'utf8')]
  } catch {
    return []
  }
}

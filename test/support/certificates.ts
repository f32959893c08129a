// Self-signed test certificates, made by the openssl command; each is its own authority.

import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { isIP } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface KeyPair {
  /** PEM; also the authority to trust. */
  readonly cert: string
  /** PEM. */
  readonly key: string
}

const ECDSA = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
const RSA = ['-newkey', 'rsa:2048', '-nodes']

/** @param names DNS names, IP addresses and URIs, all used as subject alternative names. */
export const selfSigned = (...names: readonly string[]): KeyPair => signed(ECDSA, names)

/** Like selfSigned(), with a key of RSA. */
export const selfSignedRsa = (...names: readonly string[]): KeyPair => signed(RSA, names)

function signed(keyKind: readonly string[], names: readonly string[]): KeyPair {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-certificate-'))
  const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  const subject = [
    '-subj',
    '/CN=test',
    '-days',
    '2',
    '-addext',
    `subjectAltName=${names.map(san).join(',')}`,
  ]
  try {
    execFileSync(
      'openssl',
      ['req', '-x509', ...keyKind, ...subject, '-keyout', key, '-out', cert],
      {
        stdio: 'ignore',
      },
    )
    return { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function san(name: string): string {
  if (name.includes('://')) return `URI:${name}`
  return isIP(name) === 0 ? `DNS:${name}` : `IP:${name}`
}

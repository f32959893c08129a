// Certificates and keys that Envoy would reject are detected before they are sent.

import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { isCertificates, isServerPair } from '../../../../src/control/translate/world/pem.js'
import { atOnce } from '../../../../src/kit/turns.js'

function selfSignedBy(...keyArguments: readonly string[]): { cert: string; key: string } {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-pem-'))
  const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  try {
    const files = ['-keyout', key, '-out', cert, '-subj', '/CN=test']
    execFileSync('openssl', ['req', '-x509', '-nodes', ...keyArguments, ...files], {
      stdio: 'ignore',
    })
    return { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const curve = (name: string) => ['-newkey', 'ec', '-pkeyopt', `ec_paramgen_curve:${name}`]

describe('a certificate and its key', () => {
  test.each([
    ['RSA of 2048 bits', ['-newkey', 'rsa:2048'], true],
    ['RSA of 1024 bits', ['-newkey', 'rsa:1024'], false],
    ['ECDSA on P-256', curve('prime256v1'), true],
    ['ECDSA on P-384', curve('secp384r1'), true],
    ['ECDSA on a curve that TLS 1.3 has not', curve('secp256k1'), false],
    ['Ed25519', ['-newkey', 'ed25519'], false],
  ])('%s', (_, keyArguments, isUsable) => {
    const { cert, key } = selfSignedBy(...keyArguments)
    expect(atOnce(isServerPair(cert, key))).toBe(isUsable)
  })

  test('of two pairs are none', () => {
    const [one, other] = [1, 2].map(() => selfSignedBy(...curve('prime256v1')))
    expect(atOnce(isServerPair(one?.cert ?? '', other?.key ?? ''))).toBe(false)
  })

  test('with a chain that breaks off are none', () => {
    const { cert, key } = selfSignedBy(...curve('prime256v1'))
    const broken = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'
    expect(atOnce(isServerPair(cert + broken, key))).toBe(false)
    expect(atOnce(isServerPair(cert + cert.slice(0, -40), key))).toBe(false)
    expect(atOnce(isServerPair(cert + cert, key))).toBe(true)
  })
})

test.each(['', 'nothing', '-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n'])(
  'authorities without a certificate: %j',
  (pem) => {
    expect(atOnce(isCertificates(pem))).toBe(false)
  },
)

test('a text of many beginnings costs little, and is none', () => {
  const begin = '-----BEGIN CERTIFICATE-----\n'
  const { cert } = selfSignedBy(...curve('prime256v1'))
  expect(atOnce(isCertificates(begin.repeat(1_000_000)))).toBe(false)
  expect(atOnce(isCertificates(`${cert}${begin.repeat(1_000_000)}`))).toBe(false)
})

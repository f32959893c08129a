// Verifies Project Wycheproof's vectors for JSON Web Signatures at JWS level. Not part of the unit tests: runs only if
// GATEHOUSE_WYCHEPROOF names the folder with the three json_web_*_test.json files (npm test -- --project conformance).

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../src/model/json.js'
import { verifyWithKeySet } from '../extauthz/jws-level.js'

interface Vector {
  readonly tcId: number
  readonly comment: string
  readonly jws?: string | JsonObject
  readonly result: 'valid' | 'invalid'
}

interface Group {
  readonly public?: JsonObject
  readonly private?: JsonObject
  readonly tests: readonly Vector[]
}

const folder = process.env['GATEHOUSE_WYCHEPROOF']
if (folder === undefined)
  throw new Error('GATEHOUSE_WYCHEPROOF must name the folder of the vectors')

/** The keys of these say ES521, PS256 or RS256 while the token says otherwise: RFC 7517 section 4.4 binds a key to its alg. */
const KEY_ALG_DIFFERS = new Set(
  ['json_web_signature_test.json'].flatMap((file) =>
    [346, 347, 350, 351].map((id) => `${file} ${id}`),
  ),
)

const isJwk = (value: JsonObject): boolean => !('keys' in value)

const publicOnly = (jwk: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(jwk).filter(([name]) => name !== 'd' || jwk['kty'] === 'oct'))

function keySet(group: Group): JsonObject {
  const keys = group.public ?? group.private ?? {}
  return isJwk(keys) ? { keys: [publicOnly(keys)] } : keys
}

const isSymmetric = (jwks: JsonObject): boolean =>
  JSON.stringify(jwks).includes('"kty":"oct"') && !/"kty":"(RSA|EC|OKP)"/.test(JSON.stringify(jwks))

describe.each([
  ['json_web_signature_test.json', 401],
  ['json_web_key_test.json', 26],
  ['json_web_crypto_test.json', 49],
])('%s', (file, count) => {
  const { testGroups } = JSON.parse(readFileSync(join(folder, file), 'utf8')) as {
    testGroups: readonly Group[]
  }
  const rows = testGroups.flatMap((group) =>
    group.tests
      .filter(({ jws }) => jws !== undefined)
      .map((vector) => ({ ...vector, jwks: keySet(group) })),
  )

  test('has as many vectors as expected', () => {
    expect(rows).toHaveLength(count)
  })

  test.each(rows)('$tcId $comment ($result)', async ({ tcId, jws, jwks, result }) => {
    const accepted = typeof jws === 'string' && (await verifyWithKeySet(jws, jwks))
    const expected =
      result === 'valid' && !isSymmetric(jwks) && !KEY_ALG_DIFFERS.has(`${file} ${tcId}`)
    expect(accepted).toBe(expected)
  })
})

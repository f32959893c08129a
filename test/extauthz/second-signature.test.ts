// A token that is signed by ECDSA has a second signature, n - s in place of s, which anybody can compute. Both are good: each
// is verified and remembered for itself, and what is counted is counted by claims.

import { beforeAll, describe, expect, test } from 'vitest'
import { buildAuthzTable } from '../../src/extauthz/authz-table.js'
import { available, bearer, checker, entry, jwt, sign, signingKey } from './helpers.js'

/** Orders of the groups (SEC 2, sections 2.4.2, 2.5.1 and 2.6.1). */
const ORDERS = {
  ES256: 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n,
  ES384:
    0xffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973n,
  ES512:
    0x01fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffa51868783bf2f966b7fcc0148f709a5d03bb5c9b8899c47aebb6fb71e91386409n,
}

function secondOf(token: string, order: bigint): string {
  const at = token.lastIndexOf('.')
  const signature = Buffer.from(token.slice(at + 1), 'base64url')
  const [half, hex] = [signature.length / 2, signature.toString('hex')]
  const s = order - BigInt(`0x${hex.slice(half * 2)}`)
  const second = hex.slice(0, half * 2) + s.toString(16).padStart(half * 2, '0')
  return `${token.slice(0, at)}.${Buffer.from(second, 'hex').toString('base64url')}`
}

/** Another text whose characters beyond Latin-1 Node would decode to the same bytes. */
const inOtherCharacters = (token: string): string =>
  token.slice(0, -1) + String.fromCodePoint((token.codePointAt(token.length - 1) ?? 0) + 0x100)

describe.each(['ES256', 'ES384', 'ES512'] as const)('%s', (algorithm) => {
  let check: ReturnType<typeof checker>['check']
  let tokens: readonly [string, string]

  beforeAll(async () => {
    const key = await signingKey(algorithm)
    const limitKeys = [{ index: 0, expression: 'jwt.sub' }]
    const table = buildAuthzTable([entry({ jwt: jwt(available(key.jwk)), limitKeys })])
    ;({ check } = checker(() => table))
    const token = await sign(key)
    tokens = [token, secondOf(token, ORDERS[algorithm])]
  })

  test('both are good, and are one caller to a limit by a claim', async () => {
    const answers = await Promise.all(
      [...tokens, ...tokens].map((token) => check({ headers: [bearer(token)] })),
    )
    expect(tokens[0]).not.toBe(tokens[1])
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    expect(new Set(answers.map(({ metadata }) => JSON.stringify(metadata))).size).toBe(1)
    expect(JSON.stringify(answers[0]?.metadata)).toContain('limit')
  })

  test('one that is remembered lets no other text in', async () => {
    const [token] = tokens
    for (let times = 0; times < 3; times += 1)
      expect((await check({ headers: [bearer(token)] })).status).toBe(200)
    const bent = token.slice(0, -2) + (token.endsWith('AA') ? 'BA' : 'AA')
    expect((await check({ headers: [bearer(bent)] })).status).toBe(401)
    for (const one of tokens)
      expect((await check({ headers: [bearer(inOtherCharacters(one))] })).status).toBe(401)
  })
})

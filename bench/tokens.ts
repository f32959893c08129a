// Creates keys and any number of distinct tokens with typical claims.

import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'

export const ISSUER = 'https://idp.example/application/o/mcp/'
export const AUDIENCE = 'mcp-client'

export interface Keys {
  /** JWS algorithm. */
  readonly alg: string
  readonly privateKey: CryptoKey
  readonly jwks: { readonly keys: readonly JWK[] }
}

export async function newKeys(alg = 'RS256'): Promise<Keys> {
  const { privateKey, publicKey } = await generateKeyPair(alg)
  const jwk = { ...(await exportJWK(publicKey)), kid: 'k1', alg, use: 'sig' }
  return { alg, privateKey, jwks: { keys: [jwk] } }
}

/** Signs distinct tokens: jti is a counter. */
export function newTokens({ alg, privateKey }: Keys, count: number): Promise<string[]> {
  const sign = (_: unknown, index: number): Promise<string> =>
    new SignJWT({
      sub: 'alice',
      groups: ['mcp-users', 'staff'],
      scope: 'openid profile email',
      email: 'alice@example.org',
      azp: AUDIENCE,
      jti: String(index),
    })
      .setProtectedHeader({ alg, kid: 'k1', typ: 'at+jwt' })
      .setIssuer(ISSUER)
      .setAudience(AUDIENCE)
      .setIssuedAt()
      .setExpirationTime('1h')
      .sign(privateKey)
  return Promise.all(Array.from({ length: count }, sign))
}

// Keys and tokens of an issuer that tests control: valid ones, and those that an attacker would send.

import {
  CompactSign,
  type CryptoKey,
  exportJWK,
  generateKeyPair,
  type JWK,
  type JWTHeaderParameters,
  type JWTPayload,
  SignJWT,
} from 'jose'

export interface SigningKey {
  readonly kid: string
  readonly alg: string
  readonly privateKey: CryptoKey
  readonly publicJwk: JWK
}

export async function newKey(kid: string, alg = 'RS256'): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
  return {
    kid,
    alg,
    privateKey,
    publicJwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' },
  }
}

export const keySet = (...keys: readonly SigningKey[]): { keys: JWK[] } => ({
  keys: keys.map(({ publicJwk }) => publicJwk),
})

export interface TokenOptions {
  readonly key: SigningKey
  readonly header?: Partial<JWTHeaderParameters>
  /** Overrides the defaults exp (in 5 minutes) and sub. A claim set to undefined is left out. */
  readonly claims: JWTPayload
}

export function signToken({ key, header, claims }: TokenOptions): Promise<string> {
  const payload = { sub: 'alice', exp: now() + 300, ...claims }
  return new SignJWT(JSON.parse(JSON.stringify(payload)) as JWTPayload)
    .setProtectedHeader({ alg: key.alg, kid: key.kid, typ: 'JWT', ...header })
    .sign(key.privateKey)
}

/** The current time in seconds since the epoch. */
export const now = (): number => Math.floor(Date.now() / 1000)

export const base64url = (value: object | string): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')

/** Signs a token with this exact payload text, which need not be valid JSON. */
export const signText = ({ kid, alg, privateKey }: SigningKey, payload: string): Promise<string> =>
  new CompactSign(new TextEncoder().encode(payload))
    .setProtectedHeader({ alg, kid })
    .sign(privateKey)

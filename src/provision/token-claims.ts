// Reads the claims of a service account's token. They are not verified: the API server does that.

import { isJsonObject, parseJson } from '../ir/json.js'

/** What a token says of itself. */
export interface TokenClaims {
  /** The user name of its service account, "system:serviceaccount:NAMESPACE:NAME". */
  readonly user: string
  /** "NAMESPACE/NAME" of its service account. */
  readonly account: string
  readonly audiences: readonly string[]
  /** When it expires, in milliseconds since the epoch. */
  readonly expires: number
}

const SERVICE_ACCOUNT = /^system:serviceaccount:([a-z0-9-]{1,63}):([a-z0-9.-]{1,253})$/

/** Returns undefined for what is not the token of a service account that expires. */
export function readTokenClaims(token: string): TokenClaims | undefined {
  const [, payload = '', , ...more] = token.split('.', 5)
  if (more.length > 0) return undefined
  const claims = parseJson(Buffer.from(payload, 'base64url'))
  if (!isJsonObject(claims)) return undefined
  const { sub, aud, exp } = claims
  if (typeof sub !== 'string' || typeof exp !== 'number' || !Array.isArray(aud)) return undefined
  const [, namespace, name] = SERVICE_ACCOUNT.exec(sub) ?? []
  if (namespace === undefined || name === undefined) return undefined
  const audiences = aud.filter((each) => typeof each === 'string')
  return { user: sub, account: `${namespace}/${name}`, audiences, expires: exp * 1000 }
}

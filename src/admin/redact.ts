// Redacts members of the model that may hold secrets, for the config dump. Envoy's resources are already redacted
// (xds/translator/dump-xds.ts).

import type { LazyJson, LazyJsonObject } from '../ir/json.js'

const REDACTED = '[redacted]'

/** Names of the model's members that hold private keys, keys and passwords. */
const SECRET_MEMBERS = new Set([
  ...['privateKey', 'password', 'client_secret', 'clientSecret', 'sealingKeys', 'seal'],
])
/** Members of key sets and public keys (RFC 7517 and 7518): a key set may contain private members by mistake. */
const PUBLIC_JWK_MEMBERS = new Set([
  ...['keys', 'kty', 'kid', 'use', 'key_ops', 'alg', 'crv', 'n', 'e', 'x', 'y', 'pub'],
  ...['x5u', 'x5c', 'x5t', 'x5t#S256'],
])
/** Members with expressions: a literal may be a secret that a caller must send or that a webhook is sent. */
const EXPRESSION_MEMBERS = new Set(['expression', 'deny', 'require', 'allow', 'when'])

/** Returns the members of an object as shown; nested objects are redacted when they are written. */
export function shownMembers(
  object: LazyJsonObject,
): readonly (readonly [name: string, value: LazyJson])[] {
  const isJwk = typeof object['kty'] === 'string'
  // A header's name does not tell whether its value is a secret.
  const isNamed = typeof object['name'] === 'string' || typeof object['key'] === 'string'
  const isSecret = (member: string): boolean =>
    SECRET_MEMBERS.has(member) ||
    (isJwk && !PUBLIC_JWK_MEMBERS.has(member)) ||
    (isNamed && member === 'value')
  return Object.entries(object).map(([member, value]) => {
    if (isSecret(member)) return [member, REDACTED]
    if (member === 'jwks') return [member, publicParts(value)]
    return [member, EXPRESSION_MEMBERS.has(member) ? withoutTexts(value) : value]
  })
}

/** Redacts what is not known as public in a key set, whether or not it has the form of one. */
function publicParts(value: LazyJson): LazyJson {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return (value as readonly LazyJson[]).map(publicParts)
  return Object.fromEntries(
    Object.entries<LazyJson>(value as LazyJsonObject).map(([member, part]) => [
      member,
      PUBLIC_JWK_MEMBERS.has(member) ? publicParts(part) : REDACTED,
    ]),
  )
}

/** Redacts all strings; the length of a list still shows. */
function withoutTexts(value: LazyJson): LazyJson {
  if (typeof value === 'string') return REDACTED
  return Array.isArray(value) ? (value as readonly LazyJson[]).map(withoutTexts) : value
}

// Redacts members of the model that may hold secrets, for the config dump. Envoy's resources are already redacted
// (xds/translator/dump-xds.ts).

import type { LazyJson, LazyJsonObject } from '../ir/json.js'

const REDACTED = '[redacted]'

/** Names of the model's members that hold private keys, keys and passwords. */
const SECRET_MEMBERS = new Set([
  ...['privateKey', 'password', 'client_secret', 'clientSecret', 'sealingKeys', 'seal'],
])
/** RFC 7518 sections 6.2.2, 6.3.2 and 6.4: private members of a JWK, which a key set may contain by mistake. */
const PRIVATE_JWK_MEMBERS = new Set(['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'])
/** Members with expressions: a literal may be a secret that a caller must send or that a webhook is sent. */
const EXPRESSION_MEMBERS = new Set(['expression', 'deny', 'require', 'allow'])

/** Returns the members of an object as shown; nested objects are redacted when they are written. */
export function shownMembers(
  object: LazyJsonObject,
): readonly (readonly [name: string, value: LazyJson])[] {
  const isJwk = typeof object['kty'] === 'string'
  // A header's name does not tell whether its value is a secret.
  const isNamed = typeof object['name'] === 'string' || typeof object['key'] === 'string'
  const isSecret = (member: string): boolean =>
    SECRET_MEMBERS.has(member) ||
    (isJwk && PRIVATE_JWK_MEMBERS.has(member)) ||
    (isNamed && member === 'value')
  return Object.entries(object).map(([member, value]) => {
    if (isSecret(member)) return [member, REDACTED]
    return [member, EXPRESSION_MEMBERS.has(member) ? withoutTexts(value) : value]
  })
}

/** Redacts all strings; the length of a list still shows. */
function withoutTexts(value: LazyJson): LazyJson {
  if (typeof value === 'string') return REDACTED
  return Array.isArray(value) ? (value as readonly LazyJson[]).map(withoutTexts) : value
}

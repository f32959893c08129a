// Members of the model that may hold secrets → what the config dump shows in their place. Envoy's resources come redacted
// (xds/translator/dump-xds.ts).

import type { LazyJson, LazyJsonObject } from '../ir/json.js'

const REDACTED = '[redacted]'

/** The model's names of private keys, keys and passwords. */
const SECRET_MEMBERS = new Set([
  ...['privateKey', 'password', 'client_secret', 'clientSecret', 'sealingKeys', 'seal'],
])
/** RFC 7518 sections 6.2.2, 6.3.2 and 6.4: what a key set must not hold and may, by mistake. */
const PRIVATE_JWK_MEMBERS = new Set(['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'])
/** Where the model has expressions: a literal of one may be what a caller must send, or what a webhook is sent. */
const EXPRESSION_MEMBERS = new Set(['expression', 'deny', 'require', 'allow'])

/** The members of an object as they are shown; objects below them are redacted when their turn comes. */
export function shownMembers(
  object: LazyJsonObject,
): readonly (readonly [name: string, value: LazyJson])[] {
  const isJwk = typeof object['kty'] === 'string'
  // Nobody can tell by its name whether a header is a secret.
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

/** How many there are still shows. */
function withoutTexts(value: LazyJson): LazyJson {
  if (typeof value === 'string') return REDACTED
  return Array.isArray(value) ? (value as readonly LazyJson[]).map(withoutTexts) : value
}

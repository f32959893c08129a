// JSON that may hold secrets → the same JSON without them, for the config dump.

import type { Json, JsonObject } from '../ir/json.js'

const REDACTED = '[redacted]'

/** Our model's and Envoy's names of private keys and passwords. */
const SECRET_MEMBERS = new Set(['privateKey', 'private_key', 'password', 'client_secret'])
/** RFC 7518 sections 6.2.2, 6.3.2 and 6.4: what a key set must not hold and may, by mistake. */
const PRIVATE_JWK_MEMBERS = new Set(['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'])
/** Headers that a route's filter may set towards a backend. */
const SECRET_HEADER = /authorization|cookie|token|secret|password|api-?key/i

export function redact(value: Json): Json {
  if (value === null || typeof value !== 'object') return value
  return isArray(value) ? value.map(redact) : redactObject(value)
}

// Array.isArray does not narrow a readonly array.
const isArray = (value: readonly Json[] | JsonObject): value is readonly Json[] =>
  Array.isArray(value)

function redactObject(object: JsonObject): JsonObject {
  const isJwk = typeof object['kty'] === 'string'
  const isSecretHeader = [object['name'], object['key']].some(
    (name) => typeof name === 'string' && SECRET_HEADER.test(name),
  )
  const secret = (member: string): boolean =>
    SECRET_MEMBERS.has(member) ||
    (isJwk && PRIVATE_JWK_MEMBERS.has(member)) ||
    (isSecretHeader && (member === 'value' || member === 'raw_value'))
  return Object.fromEntries(
    Object.entries(object).map(([member, value]) => [
      member,
      secret(member) ? REDACTED : redact(value),
    ]),
  )
}

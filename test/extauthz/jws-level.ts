// Verifies a JWS with a key set, as ext_authz does before it reads any claim.

import { parseJws } from '../../src/extauthz/token/jws.js'
import { keysFor, verifyJws } from '../../src/extauthz/token/jws-signature.js'
import { importKeys } from '../../src/extauthz/token/provider.js'
import { atOnce } from '../../src/kit/turns.js'
import type { JsonObject } from '../../src/model/json.js'

export async function verifyWithKeySet(token: string, jwks: JsonObject): Promise<boolean> {
  const jws = parseJws(token)
  if (jws === undefined) return false
  return await verifyJws(jws, keysFor(jws.header, atOnce(importKeys(jwks))))
}

// The claims of a token against one provider, apart from how the provider was picked.

import { expect, test } from 'vitest'
import { claimsFault } from '../../src/extauthz/claims.js'
import { parseJws } from '../../src/extauthz/jws.js'
import { base64url, CLAIMS, ISSUER, NOW } from './helpers.js'

const jws = parseJws(`${base64url({ alg: 'RS256' })}.${base64url(CLAIMS)}.AAAA`)

test.each([
  [{}, undefined],
  [{ iss: 'https://evil.example' }, 'wrong-issuer'],
  [{ aud: 'x' }, 'wrong-audience'],
  [{ exp: NOW - 60 }, 'expired'],
  [{ exp: 'soon' }, 'malformed-claims'],
  [{ nbf: NOW + 61 }, 'not-yet-valid'],
])('%j: %s', (claims, fault) => {
  if (jws === undefined) throw new Error('not a JWS')
  const rules = { issuer: ISSUER, audiences: ['mcp-client'] }
  expect(claimsFault(jws, { ...CLAIMS, ...claims }, rules, NOW)).toBe(fault)
})

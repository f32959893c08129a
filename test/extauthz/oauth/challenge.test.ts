// The 401's WWW-Authenticate: exactly as specified, and not influenced by the request.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { challengeHeader } from '../../../src/extauthz/oauth/challenge.js'
import type { Challenge } from '../../../src/model/authz-entry.js'

const challenge = (changes: Partial<Challenge> = {}): Challenge => ({
  paths: { mcpPath: '/mcp', origin: 'https://gw.example' },
  details: false,
  scopes: ['openid', 'profile'],
  ...changes,
})
const request = { scheme: 'http', authority: '127.0.0.1:10000' }

test('names the resource metadata at the configured origin, and nothing else', () => {
  expect(challengeHeader(challenge(), request, 'the token has expired')).toBe(
    'Bearer resource_metadata="https://gw.example/.well-known/oauth-protected-resource/mcp"',
  )
})

test.each([
  ['/mcp', 'http://127.0.0.1:10000/.well-known/oauth-protected-resource/mcp'],
  ['', 'http://127.0.0.1:10000/.well-known/oauth-protected-resource'],
  ['/mcp/', 'http://127.0.0.1:10000/.well-known/oauth-protected-resource/mcp/'],
])('without a configured origin the request gives it, for %j', (mcpPath, url) => {
  expect(challengeHeader(challenge({ paths: { mcpPath } }), request)).toBe(
    `Bearer resource_metadata="${url}"`,
  )
})

test('an authority that cannot be published leaves a bare challenge', () => {
  const hostile = { scheme: 'http', authority: 'gw.example", error="x' }
  expect(challengeHeader(challenge({ paths: { mcpPath: '/mcp' } }), hostile)).toBe('Bearer')
})

test('details name the error only where there was a token', () => {
  const url = 'https://gw.example/.well-known/oauth-protected-resource/mcp'
  expect(challengeHeader(challenge({ details: true }), request, 'the token has expired')).toBe(
    `Bearer resource_metadata="${url}", error="invalid_token", error_description="the token has expired", scope="openid profile"`,
  )
  expect(challengeHeader(challenge({ details: true }), request)).toBe(
    `Bearer resource_metadata="${url}", scope="openid profile"`,
  )
  expect(challengeHeader(challenge({ details: true, scopes: [] }), request)).toBe(
    `Bearer resource_metadata="${url}"`,
  )
})

test('whatever comes in, it stays one header with balanced quotes', () => {
  const text = fc.string({ unit: 'binary' })
  fc.assert(
    fc.property(text, text, fc.array(text), (authority, problem, scopes) => {
      const header = challengeHeader(
        challenge({ paths: { mcpPath: '/mcp' }, details: true, scopes }),
        { scheme: 'http', authority },
        problem,
      )
      expect(header).toMatch(/^Bearer(?: [a-z_]+="[\x20-\x7e]*?"(?:, [a-z_]+="[^"\\]*")*)?$/)
      expect(header).toMatch(/^[\x20-\x7e]*$/)
    }),
  )
})

// What a token permits, through Envoy: modes, keys, claims, audiences, issuers, and what the backend sees of it.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  ISSUER,
  jwt,
  protectedRoute,
  type ProtectedStack,
  provider,
  sign,
  startProtectedStack,
} from '../support/protected-stack.js'
import { allow } from '../support/resources.js'
import { newKey, now, type SigningKey, signToken } from '../support/tokens.js'

const OTHER_ISSUER = 'https://other.example/'

const ours = await newKey('k1')
const theirs = await newKey('k1')
const ec = await newKey('ec', 'ES256')
const ed = await newKey('ed', 'EdDSA')
const attacker = await newKey('k1')
const keys = [ours, ec, ed]

let stack: ProtectedStack

beforeAll(async () => {
  stack = await startProtectedStack(
    protectedRoute('strict', { jwtAuthentication: jwt(keys) }),
    protectedRoute('optional', { jwtAuthentication: jwt(keys, { mode: 'Optional' }) }),
    protectedRoute('permissive', { jwtAuthentication: jwt(keys, { mode: 'Permissive' }) }),
    protectedRoute('forwarded', { jwtAuthentication: jwt(keys, { forwardToken: true }) }),
    protectedRoute('audience', {
      jwtAuthentication: { providers: [provider(keys, { audiences: ['mcp', 'other'] })] },
    }),
    protectedRoute('two', {
      jwtAuthentication: {
        providers: [provider(keys), provider([theirs], { issuer: OTHER_ISSUER })],
      },
    }),
    protectedRoute('claimless', {
      jwtAuthentication: jwt(keys, { mode: 'Permissive' }),
      authorization: allow('jwt.sub == "alice"'),
    }),
  )
})
afterAll(() => stack.close())

describe('modes', () => {
  test.each([
    ['strict', 401, 200, 401],
    ['optional', 200, 200, 401],
    ['permissive', 200, 200, 200],
  ])('%s: no token %i, a good one %i, a bad one %i', async (name, none, good, bad) => {
    expect(await stack.statusOf(name)).toBe(none)
    expect(await stack.statusOf(name, await sign(ours))).toBe(good)
    expect(await stack.statusOf(name, await sign(attacker))).toBe(bad)
  })

  test('without claims a rule on them allows nothing', async () => {
    expect(await stack.statusOf('claimless')).toBe(403)
    expect(await stack.statusOf('claimless', await sign(ours))).toBe(200)
    expect(await stack.statusOf('claimless', await sign(attacker))).toBe(403)
  })
})

describe('tokens', () => {
  test.each([
    ['RS256', ours],
    ['ES256', ec],
    ['EdDSA', ed],
  ])('signed with %s are good', async (_alg, key) => {
    expect(await stack.statusOf('strict', await sign(key))).toBe(200)
  })

  test('are forwarded to the backend only if the policy asks for it', async () => {
    const token = await sign(ours)
    for (const [name, expected] of [
      ['strict', undefined],
      ['optional', undefined],
      ['permissive', undefined],
      ['forwarded', `Bearer ${token}`],
    ] as const) {
      expect(await stack.statusOf(name, token)).toBe(200)
      expect(stack.backend.requests.at(-1)?.headers.authorization).toBe(expected)
    }
  })

  test('of Permissive and Optional routes do not go on either when they are bad', async () => {
    expect(await stack.statusOf('permissive', await sign(attacker))).toBe(200)
    expect(stack.backend.requests.at(-1)?.headers.authorization).toBeUndefined()
  })

  test.each([
    ['expired', { exp: now() - 61 }, 401],
    ['expired within the leeway', { exp: now() - 30 }, 200],
    ['not valid yet', { nbf: now() + 200 }, 401],
    ['without an expiry', { exp: undefined }, 401],
    ['with an expiry that is a text', { exp: String(now() + 300) }, 401],
    ['of another issuer', { iss: `${ISSUER}/` }, 401],
    ['without an issuer', { iss: undefined }, 401],
  ])('%s', async (_what, claims, expected) => {
    expect(await stack.statusOf('strict', await sign(ours, claims))).toBe(expected)
  })

  test.each([
    ['mcp', 200],
    [['x', 'other'], 200],
    ['mcpx', 401],
    [[], 401],
    [{ mcp: true }, 401],
    [undefined, 401],
  ])('for audience %j', async (aud, expected) => {
    expect(await stack.statusOf('audience', await sign(ours, { aud }))).toBe(expected)
  })

  test('of two issuers with the same kid are distinguished', async () => {
    const of = (iss: string, key: SigningKey): Promise<string> =>
      signToken({ key, claims: { iss } })
    expect(await stack.statusOf('two', await of(ISSUER, ours))).toBe(200)
    expect(await stack.statusOf('two', await of(OTHER_ISSUER, theirs))).toBe(200)
    expect(await stack.statusOf('two', await of(ISSUER, theirs))).toBe(401)
    expect(await stack.statusOf('two', await of(OTHER_ISSUER, ours))).toBe(401)
    expect(await stack.statusOf('strict', await of(OTHER_ISSUER, theirs))).toBe(401)
  })
})

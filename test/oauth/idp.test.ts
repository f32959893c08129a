// What differs between identity providers: documents, default key path, and registration without a clientId.

import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../src/ir/json.js'
import { idpOf } from '../../src/oauth/idp.js'

const ONE = 'https://idp.example/application/o/mcp-app/'
const TWO = 'https://api.idp.example/v1/apps/agentic/P2abc/MS2def'

describe('where the discovery document may be', () => {
  test.each([
    ['IdpOne', ONE, ['https://idp.example/application/o/mcp-app/.well-known/openid-configuration']],
    ['IdpTwo', TWO, [`${TWO}/.well-known/openid-configuration`]],
    [
      undefined,
      'https://idp.example/realms/x',
      [
        'https://idp.example/.well-known/oauth-authorization-server/realms/x',
        'https://idp.example/realms/x/.well-known/openid-configuration',
      ],
    ],
    [
      undefined,
      'http://localhost:8080/',
      [
        'http://localhost:8080/.well-known/oauth-authorization-server',
        'http://localhost:8080/.well-known/openid-configuration',
      ],
    ],
  ] as const)('%s %s', (provider, issuer, urls) => {
    expect(idpOf(provider).discoveryUrls(issuer)).toEqual(urls)
  })
})

describe('the key set’s path where the policy names none', () => {
  test.each([
    ['IdpOne', ONE, '/application/o/mcp-app/jwks/'],
    ['IdpTwo', TWO, '/P2abc/.well-known/jwks.json'],
    ['IdpTwo', `${TWO}/`, '/P2abc/.well-known/jwks.json'],
    ['IdpTwo', 'https://api.idp.example/other', undefined],
    ['IdpTwo', 'not a url', undefined],
    [undefined, ONE, undefined],
  ] as const)('%s %s: %s', (provider, issuer, path) => {
    expect(idpOf(provider).jwksPath(issuer)).toBe(path)
  })
})

describe('registration without a clientId', () => {
  test('IdpOne refuses', () => {
    expect(idpOf('IdpOne').registration(ONE).type).toBe('refuse')
  })

  test('IdpTwo: at the management path of the issuer’s host', () => {
    expect(idpOf('IdpTwo').registration(TWO)).toEqual({
      type: 'proxy',
      url: 'https://api.idp.example/v1/mgmt/mcp/client/P2abc/MS2def/register',
    })
    expect(idpOf('IdpTwo').registration('https://api.idp.example/x').type).toBe('refuse')
  })

  test.each([
    ['https://idp.example/register', 'proxy'],
    ['https://idp.example:443/register', 'proxy'],
    ['https://other.example/register', 'refuse'],
    ['http://idp.example/register', 'refuse'],
    ['https://user@idp.example/register', 'refuse'],
    ['/register', 'refuse'],
    ['', 'refuse'],
    [null, 'refuse'],
    [undefined, 'refuse'],
  ])('no provider, registration_endpoint %j: %s', (endpoint, type) => {
    const discovery: JsonObject = endpoint === undefined ? {} : { registration_endpoint: endpoint }
    expect(idpOf(undefined).registration('https://idp.example/realms/x', discovery).type).toBe(type)
  })

  test('no provider, no document yet: refused', () => {
    expect(idpOf(undefined).registration('https://idp.example').type).toBe('refuse')
  })
})

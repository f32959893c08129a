// The authorization-server metadata document: what is kept from the provider, what Gatehouse sets, and what is left
// out.

import { describe, expect, test } from 'vitest'
import { buildServerMetadata } from '../../../src/extauthz/oauth/server-metadata.js'
import type { JsonObject } from '../../../src/model/json.js'
import type { ServerMetadata } from '../../../src/model/proc-entry.js'

const ISSUER = 'https://idp.example/application/o/app/'
const provider: JsonObject = {
  issuer: ISSUER,
  authorization_endpoint: 'https://idp.example/application/o/authorize/',
  token_endpoint: 'https://idp.example/application/o/token/',
  jwks_uri: 'https://idp.example/application/o/app/jwks/',
  response_types_supported: ['code'],
  vendor: { nested: [1, null] },
}

const build = (changes: Partial<ServerMetadata> = {}, mcpPath = '/mcp') =>
  buildServerMetadata(
    { metadataIssuer: 'Provider', clientIdConfigured: true, discovery: provider, ...changes },
    { mcpPath },
    'https://gw.example',
  )

test('the provider’s members stay as they are; registration and PKCE are added', () => {
  expect(build()).toEqual({
    ...provider,
    code_challenge_methods_supported: ['S256'],
    registration_endpoint:
      'https://gw.example/.well-known/oauth-authorization-server/mcp/client-registration',
  })
})

test('a document that was never fetched gives none', () => {
  expect(build({ discovery: undefined })).toBeUndefined()
})

describe('who the issuer is (decision 10a)', () => {
  test.each([
    ['Provider', '/mcp', ISSUER],
    ['Gateway', '/mcp', 'https://gw.example/mcp'],
    ['Gateway', '', 'https://gw.example'],
    ['Gateway', '/mcp/', 'https://gw.example/mcp/'],
  ] as const)('%s, %j: %s', (metadataIssuer, mcpPath, issuer) => {
    expect(build({ metadataIssuer }, mcpPath)?.issuer).toBe(issuer)
  })

  test('the RFC 9207 flag goes when the issuer is the gateway, and stays when it is the provider', () => {
    const discovery = { ...provider, authorization_response_iss_parameter_supported: true }
    expect(build({ metadataIssuer: 'Gateway', discovery })).not.toHaveProperty(
      'authorization_response_iss_parameter_supported',
    )
    expect(build({ metadataIssuer: 'Provider', discovery })).toHaveProperty(
      'authorization_response_iss_parameter_supported',
      true,
    )
  })
})

describe('registration', () => {
  test.each([[undefined], ['https://idp.example/register'], [null], [''], ['/register']])(
    'a provider’s registration_endpoint %j is replaced',
    (endpoint) => {
      const discovery =
        endpoint === undefined ? provider : { ...provider, registration_endpoint: endpoint }
      for (const clientIdConfigured of [true, false])
        expect(build({ discovery, clientIdConfigured })?.registration_endpoint).toBe(
          'https://gw.example/.well-known/oauth-authorization-server/mcp/client-registration',
        )
    },
  )

  test.each([
    ['', 'https://gw.example/.well-known/oauth-authorization-server/client-registration'],
    ['/mcp/', 'https://gw.example/.well-known/oauth-authorization-server/mcp/client-registration'],
  ])('at the MCP path %j', (mcpPath, url) => {
    expect(build({}, mcpPath)?.registration_endpoint).toBe(url)
  })

  test('registration is not advertised while clientId is set, even to clients that would not register', () => {
    const discovery = { ...provider, client_id_metadata_document_supported: true }
    expect(build({ discovery, clientIdConfigured: true })).not.toHaveProperty(
      'client_id_metadata_document_supported',
    )
    expect(build({ discovery, clientIdConfigured: false })).toHaveProperty(
      'client_id_metadata_document_supported',
      true,
    )
  })
})

describe('members that clients refuse the whole document for', () => {
  test.each([
    ['revocation_endpoint', null],
    ['revocation_endpoint', ''],
    ['revocation_endpoint', '/revoke'],
    ['revocation_endpoint', 'idp.example/revoke'],
    ['revocation_endpoint', 'javascript:alert(1)'],
    ['revocation_endpoint', 'https://'],
    ['revocation_endpoint', 7],
    ['jwks_uri', null],
    ['op_tos_uri', ''],
    ['service_documentation', null],
    ['claims_supported', null],
  ])('%s: %j is left out', (name, value) => {
    expect(build({ discovery: { ...provider, [name]: value } })).not.toHaveProperty(name)
  })

  test('inside mtls_endpoint_aliases too', () => {
    const aliases = { token_endpoint: 'https://mtls.idp.example/t', revocation_endpoint: null }
    expect(
      build({ discovery: { ...provider, mtls_endpoint_aliases: aliases } })?.mtls_endpoint_aliases,
    ).toEqual({ token_endpoint: 'https://mtls.idp.example/t' })
  })

  test('a list of code challenge methods stays the provider’s, a null one is as good as none', () => {
    const list = ['plain', 'S256']
    expect(
      build({ discovery: { ...provider, code_challenge_methods_supported: list } })
        ?.code_challenge_methods_supported,
    ).toEqual(list)
    expect(
      build({ discovery: { ...provider, code_challenge_methods_supported: null } })
        ?.code_challenge_methods_supported,
    ).toEqual(['S256'])
  })

  test('a member called __proto__ is a member like any other', () => {
    const discovery = JSON.parse(
      '{"issuer":"https://idp.example","__proto__":{"issuer":"https://evil.example"}}',
    ) as JsonObject
    const document = build({ discovery })
    expect(document?.issuer).toBe('https://idp.example')
    expect(Object.getPrototypeOf(document)).toBe(Object.prototype)
  })
})

test('the provider’s own object is not changed', () => {
  const before = structuredClone(provider)
  build({ metadataIssuer: 'Gateway' })
  expect(provider).toEqual(before)
})

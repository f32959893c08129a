// The protected-resource metadata document, row by row.

import { describe, expect, test } from 'vitest'
import { buildResourceMetadata } from '../../../src/extauthz/oauth/resource-metadata.js'

const paths = { mcpPath: '/mcp' }
const base = 'https://gw.example'

test('the specification’s example', () => {
  const configured = {
    resource: 'https://gw.example/mcp',
    scopesSupported: ['openid', 'profile'],
    bearerMethodsSupported: ['header'],
  }
  expect(buildResourceMetadata(configured, paths, base)).toEqual({
    resource: 'https://gw.example/mcp',
    authorization_servers: ['https://gw.example/mcp'],
    mcp_protocol_version: '2025-06-18',
    resource_type: 'mcp-server',
    scopes_supported: ['openid', 'profile'],
    bearer_methods_supported: ['header'],
  })
})

describe('resource', () => {
  test.each([
    'https://gw.example',
    'https://gw.example/',
    'https://gw.example/mcp/',
    'https://GW.example:443/m%63p?tenant=a',
  ])('%s is published as written', (resource) => {
    expect(buildResourceMetadata({ resource }, paths, base).resource).toBe(resource)
  })

  test.each([
    ['/mcp', 'https://gw.example/mcp'],
    ['', 'https://gw.example'],
    ['/mcp/', 'https://gw.example/mcp/'],
  ])('not configured, for %j: the MCP URL', (mcpPath, url) => {
    const document = buildResourceMetadata({}, { mcpPath }, base)
    expect(document.resource).toBe(url)
    expect(document.authorization_servers).toEqual([url])
  })
})

describe('other members', () => {
  test('are published in snake_case with their values untouched (decision 14)', () => {
    const configured = {
      resourceDocumentation: 'https://docs.example',
      resourcePolicyUri: 'https://docs.example/policy',
      jwksURI: 'https://gw.example/keys',
      already_snake: 1,
      'x-vendorThing': { innerName: true },
    }
    expect(buildResourceMetadata(configured, paths, base)).toMatchObject({
      resource_documentation: 'https://docs.example',
      resource_policy_uri: 'https://docs.example/policy',
      jwks_uri: 'https://gw.example/keys',
      already_snake: 1,
      'x-vendor_thing': { innerName: true },
    })
  })

  test('may replace the version and the type, never the authorization server (decision 12b)', () => {
    const configured = {
      mcpProtocolVersion: '2025-11-25',
      resourceType: 'api',
      authorizationServers: ['https://idp.example'],
    }
    expect(buildResourceMetadata(configured, paths, base)).toEqual({
      resource: 'https://gw.example/mcp',
      authorization_servers: ['https://gw.example/mcp'],
      mcp_protocol_version: '2025-11-25',
      resource_type: 'api',
    })
  })

  test('the authorization server is another where the gateway sends clients there', () => {
    const document = buildResourceMetadata({}, paths, base, 'https://idp.example/tenant')
    expect(document.authorization_servers).toEqual(['https://idp.example/tenant'])
  })

  test('that are null or empty lists are left out: clients refuse the document for them', () => {
    const document = buildResourceMetadata(
      { scopesSupported: [], resourceName: null, resource: null },
      paths,
      base,
    )
    expect(Object.keys(document).sort()).toEqual([
      'authorization_servers',
      'mcp_protocol_version',
      'resource',
      'resource_type',
    ])
    expect(document.resource).toBe('https://gw.example/mcp')
  })
})

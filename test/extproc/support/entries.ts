// Table entries of one MCP route.

import type { WellKnownEntry } from '../../../src/model/proc-entry.js'

export const KEY = 'default/mcp/0'
export const PRM = '/.well-known/oauth-protected-resource/mcp'
export const AS = '/.well-known/oauth-authorization-server/mcp'
export const OIDC = '/.well-known/openid-configuration/mcp'
export const REGISTRATION = `${AS}/client-registration`

export const entry = (changes: Partial<WellKnownEntry> = {}): WellKnownEntry => ({
  type: 'well-known',
  key: KEY,
  route: 'default/mcp',
  paths: { mcpPath: '/mcp', origin: 'https://gw.example' },
  resourceMetadata: { scopes_supported: ['openid'] },
  serverMetadata: {
    metadataIssuer: 'Gateway',
    clientIdConfigured: true,
    discovery: { issuer: 'https://idp.example', token_endpoint: 'https://idp.example/token' },
  },
  registration: { type: 'answer', clientId: 'public-client' },
  ...changes,
})

export const proxied = (url = 'https://idp.example/register'): WellKnownEntry =>
  entry({
    registration: {
      type: 'proxy',
      target: {
        url,
        endpoints: { type: 'name', host: 'idp.example', port: 443 },
      },
    },
  })

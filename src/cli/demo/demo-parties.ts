// The demo's identity provider with its users and client, the ports of config/demo and the metadata path of its route.

import type { IdpConfig } from './idp/configuration.js'

/** Configuration of the identity provider. bob is in no group that the demo's policy allows. */
export const DEMO_IDP: IdpConfig = {
  shape: { type: 'IdpOne', slug: 'mcp' },
  users: [
    { name: 'alice', groups: ['mcp-users', 'staff'] },
    { name: 'bob', groups: ['staff'] },
  ],
  clientId: 'mcp-demo',
  tokenPath: true,
}

/** Ports in config/demo; the demo uses others where these are in use. */
export const CONFIG_PORTS = {
  gateway: 8080,
  identityProvider: 9000,
  mcpServer: 3001,
  llm: 4000,
  guardrailWebhook: 8000,
} as const

/** Path of the authorization server metadata on config/demo's route. */
export const SERVER_METADATA_PATH = '/.well-known/oauth-authorization-server/mcp'

// Who takes part in the demo: the identity provider that config/demo expects, its users and its client.

import type { IdpConfig } from './idp/configuration.js'

/** bob is in no group that the demo's policy lets in. */
export const DEMO_IDP: IdpConfig = {
  shape: { type: 'IdpOne', slug: 'mcp' },
  users: [
    { name: 'alice', groups: ['mcp-users', 'staff'] },
    { name: 'bob', groups: ['staff'] },
  ],
  clientId: 'mcp-demo',
  tokenPath: true,
}

/** The ports that config/demo names; the demo uses others where these are taken. */
export const CONFIG_PORTS = {
  gateway: 8080,
  identityProvider: 9000,
  mcpServer: 3001,
  llm: 4000,
  guardrailWebhook: 8000,
} as const

/** Of config/demo's route. */
export const SERVER_METADATA_PATH = '/.well-known/oauth-authorization-server/mcp'

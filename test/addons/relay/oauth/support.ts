// A relay in the form of the model, and its vault.

import { randomBytes } from 'node:crypto'
import { createVault, type Vault } from '../../../../src/extauthz/oauth/vault.js'
import type { Relay } from '../../../../src/model/relay.js'

export const key = (): string => randomBytes(32).toString('base64url')

export const relayOf = (changes: Partial<Relay> = {}): Relay => ({
  policy: 'default/mcp',
  issuer: 'https://gw.example/mcp',
  resource: 'https://gw.example/mcp',
  clientId: 'registered',
  sealingKeys: [key()],
  clientLifetimeMs: 3_600_000,
  clientMetadataHosts: [],
  redirectUris: ['loopback'],
  scopes: ['files:read', 'openid', 'offline_access'],
  sendsResource: true,
  authorizationParameters: [],
  providerIssuer: 'https://idp.example',
  provider: {
    authorizationEndpoint: 'https://idp.example/authorize',
    token: {
      url: 'https://idp.example/token',
      endpoints: { type: 'name', host: 'idp.example', port: 443 },
    },
    sendsIss: true,
    secretIn: 'header',
  },
  ...changes,
})

export const vaultOf = (relay: Relay): Vault => createVault(relay, { random: randomBytes })

// MCP clients with Keycloak, which sends iss: directly (Provider; its realm lets them register) and through the gateway
// (Relay; one confidential client with one redirect URI).

import type { Browser } from 'playwright-core'
import { afterAll, beforeAll } from 'vitest'
import { REDIRECT_URI } from '../support/clients/client-run.js'
import { launchBrowser } from './support/browser.js'
import { everyClientLogsIn } from './support/every-client.js'
import { type Keycloak, startKeycloak } from './support/keycloak.js'
import { CLIENT_ID, publicClient, relayClient } from './support/keycloak-realm.js'
import { everyClientStepsUp } from './support/steps-up.js'
import { startTwoModes, type TwoModes } from './support/two-modes.js'

const START_MS = 400_000
const client = { id: 'gw-relay', secret: 'secret-of-the-relay' }

let keycloak: Keycloak
let gateway: TwoModes
let browser: Browser

beforeAll(async () => {
  ;[keycloak, browser] = await Promise.all([startKeycloak(), launchBrowser()])
  await keycloak.openRegistration()
  const provider = {
    ...keycloak,
    client,
    audienceOf: () => CLIENT_ID,
    // Clients register for what is listed, and Keycloak refuses "openid" there, which is no client scope of a realm.
    scopes: ['mcp'],
    rule: '"mcp-users" in jwt.groups',
  }
  gateway = await startTwoModes(provider, (redirectUri) =>
    keycloak.addClient(relayClient(client.id, client.secret, redirectUri)),
  )
}, START_MS)

afterAll(async () => {
  await browser.close()
  await gateway.close()
  await keycloak.close()
})

everyClientLogsIn('Keycloak', 'login', () => ({ gateway, browser }))

everyClientStepsUp(
  'Keycloak',
  async () => {
    const known = { client_id: 'of-its-own', redirect_uris: [REDIRECT_URI] }
    await keycloak.addClient(publicClient(known.client_id, REDIRECT_URI))
    const steps = { id: 'gw-steps', secret: client.secret }
    return {
      provider: {
        ...keycloak,
        client: steps,
        audienceOf: () => CLIENT_ID,
        first: 'mcp',
        more: ['phone'],
        known,
        rule: '"mcp-users" in jwt.groups',
      },
      prepare: (redirectUri) =>
        keycloak.addClient(relayClient(steps.id, steps.secret, redirectUri)),
    }
  },
  () => browser,
)

// MCP clients with Keycloak, which sends iss: directly (Provider; its realm lets them register) and through the gateway
// (Relay; one confidential client with one redirect URI).

import type { Browser } from 'playwright-core'
import { afterAll, beforeAll } from 'vitest'
import { launchBrowser } from './support/browser.js'
import { everyClientLogsIn } from './support/every-client.js'
import { type Keycloak, startKeycloak } from './support/keycloak.js'
import { CLIENT_ID, relayClient } from './support/keycloak-realm.js'
import { startTwoModes, type TwoModes } from './support/two-modes.js'

const START_MS = 200_000
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

// MCP clients with oidc-provider, which sends iss: directly (Provider) and through the gateway (Relay; one public
// client with one redirect URI).

import type { Browser } from 'playwright-core'
import { afterAll, beforeAll } from 'vitest'
import { CLIENT_ID, idpTwo, startTestIdp, type TestIdp } from '../support/identity-provider.js'
import { launchBrowser } from './support/browser.js'
import { everyClientLogsIn } from './support/every-client.js'
import { everyClientStepsUp, registerAt } from './support/steps-up.js'
import { startTwoModes, type TwoModes } from './support/two-modes.js'

let idp: TestIdp
let gateway: TwoModes
let browser: Browser

beforeAll(async () => {
  ;[idp, browser] = await Promise.all([
    startTestIdp(idpTwo, { sendIss: true, openRegistration: true, rememberLogin: true }),
    launchBrowser(),
  ])
  gateway = await startTwoModes({
    ...idp,
    client: { id: CLIENT_ID },
    audienceOf: (resource) => resource,
    scopes: ['openid', 'profile'],
    rule: '"mcp-users" in jwt.roles',
    kind: 'IdpTwo',
  })
})

afterAll(async () => {
  await browser.close()
  await gateway.close()
  await idp.close()
})

everyClientLogsIn('oidc-provider', 'user', () => ({ gateway, browser }))

everyClientStepsUp(
  'oidc-provider',
  async () => ({
    provider: {
      ...idp,
      client: { id: CLIENT_ID },
      audienceOf: (resource) => resource,
      first: 'openid',
      more: ['email', 'profile'],
      known: await registerAt(idp.issuer, 'openid profile email'),
      rule: '"mcp-users" in jwt.roles',
      kind: 'IdpTwo',
    },
  }),
  () => browser,
)

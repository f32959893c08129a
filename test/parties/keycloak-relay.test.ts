// authorizationServer Relay before Keycloak, which sends iss, knows one confidential client and one redirect URI: the official
// clients log in and call a tool, and so does a person in Chromium.

import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type McpServer, startMcpServer } from '../../src/demo/mcp-server.js'
import { type McpClient, REDIRECT_URI } from '../support/clients/client-run.js'
import { ask, type CookieJar } from '../support/clients/consenting-agent.js'
import { python } from '../support/clients/python.js'
import { ts1 } from '../support/clients/ts1.js'
import { ts2 } from '../support/clients/ts2.js'
import { authorizationAt, exchangeAt, registerAt } from '../support/relay-login.js'
import { CALLBACK, discovered } from '../support/relay-stack.js'
import {
  allow,
  gateway,
  mcpRoute,
  proxyBackend,
  proxyPolicy,
  remoteJwks,
} from '../support/resources.js'
import { type Stack, startStack } from '../support/stack.js'
import { launchBrowser } from './support/browser.js'
import { type Keycloak, startKeycloak } from './support/keycloak.js'
import { CLIENT_ID, relayClient } from './support/keycloak-realm.js'

const START_MS = 200_000
const CLIENTS: Record<string, McpClient> = { ts1, ts2, python }
const [RELAY, SECRET] = ['gw-relay', 'secret-of-the-relay']

let keycloak: Keycloak
let server: McpServer
let stack: Stack

beforeAll(async () => {
  ;[keycloak, server] = await Promise.all([startKeycloak(), startMcpServer()])
  stack = await startStack({ resources })
  await keycloak.addClient(relayClient(RELAY, SECRET, stack.origin + CALLBACK))
  await discovered(stack)
}, START_MS)

afterAll(async () => {
  await stack.close()
  await server.close()
  await keycloak.close()
})

const resources = (port: number): readonly object[] => [
  gateway([port]),
  proxyBackend('server', server),
  proxyBackend('keycloak', keycloak),
  mcpRoute('mcp', 'server'),
  {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'relay' },
    stringData: { client: SECRET },
  },
  proxyPolicy('mcp', 'mcp', {
    jwtAuthentication: {
      providers: [
        {
          issuer: keycloak.issuer,
          audiences: [CLIENT_ID],
          jwks: remoteJwks('keycloak', keycloak.port, keycloak.jwksPath),
        },
      ],
      mcp: {
        authorizationServer: 'Relay',
        clientId: RELAY,
        allowedOrigins: ['https://app.example'],
        relay: { clientSecretRef: { name: 'relay' } },
        resourceMetadata: {
          resource: `http://127.0.0.1:${String(port)}/mcp`,
          scopesSupported: ['openid'],
        },
      },
    },
    authorization: allow('"mcp-users" in jwt.groups'),
  }),
]

/** Follows redirects, allows what the gateway asks, and logs in with Keycloak's form. */
async function agent(authorization: URL): Promise<URL> {
  const user = authorization.searchParams.get('login_hint') ?? ''
  const cookies: CookieJar = new Map()
  let next = { url: authorization, form: undefined as URLSearchParams | undefined }
  for (let step = 0; step < 20; step += 1) {
    const { url, headers, body } = await ask(next.url, next.form, cookies)
    const location = headers.get('location')
    const token = /name="token" value="([^"]+)"/.exec(body)?.[1]
    const action = /<form[^>]*\baction="([^"]+)"/.exec(body)?.[1]?.replaceAll('&amp;', '&')
    if (location !== null) next = { url: new URL(location, url), form: undefined }
    else if (token !== undefined)
      next = { url, form: new URLSearchParams({ token, decision: 'allow' }) }
    else if (action !== undefined)
      next = {
        url: new URL(action, url),
        form: new URLSearchParams({ username: user, password: user }),
      }
    else throw new Error(`${url.pathname}: ${body.slice(0, 300)}`)
    if (next.url.href.startsWith(REDIRECT_URI)) return next.url
  }
  throw new Error('too many steps')
}

test.each(Object.entries(CLIENTS))('%s registers, logs in and calls a tool', async (_, client) => {
  const run = await client(`${stack.origin}/mcp`, 'alice', agent)
  expect(run.tools).toContain('echo')
  expect(run.echo).toBe('Echo: hi')
})

describe('a person in Chromium', () => {
  let browser: Browser
  let page: Page

  beforeAll(async () => {
    browser = await launchBrowser()
    page = await browser.newPage()
  })

  afterAll(() => browser.close())

  /** As a client opens it; the query that comes back to the client. */
  async function logIn(user?: string): Promise<URLSearchParams> {
    const client = await registerAt(stack.origin)
    const verifier = 'v'.repeat(43)
    const back = page.waitForRequest((request) => request.url().startsWith(REDIRECT_URI))
    await page.goto(authorizationAt(stack.origin, client, verifier).href)
    expect(await page.textContent('h1')).toBe('Allow access?')
    // Nobody listens at the client's redirect URI.
    await page.click('button[value=allow]').catch(() => undefined)
    if (user !== undefined) {
      await page.fill('#username', user)
      await page.fill('#password', user)
      await page.click('#kc-login').catch(() => undefined)
    }
    const { searchParams } = new URL((await back).url())
    const code = searchParams.get('code') ?? ''
    const login = { client, verifier, code, cookies: new Map(), steps: [] }
    expect(await exchangeAt(stack.origin, login)).toHaveProperty('access_token')
    return searchParams
  }

  test("consents, logs in by Keycloak's own form, and comes back to the client", async () => {
    const query = await logIn('alice')
    expect(query.get('iss')).toBe(`${stack.origin}/mcp`)
    expect(query.get('state')).toBe('state-of-the-client')
  })

  test('is asked for consent by another client, though Keycloak has a session, and comes back at once', async () => {
    expect((await logIn()).get('iss')).toBe(`${stack.origin}/mcp`)
  })
})

// A relay over https, in Chromium: its cookies are bound to its host (__Host-), and the browser sends the cookie of a
// login back.

import { createHash, X509Certificate } from 'node:crypto'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type McpServer, startMcpServer } from '../../src/cli/demo/mcp-server.js'
import { selfSigned } from '../support/certificates.js'
import { ts2 } from '../support/clients/ts2.js'
import { idpOne, startTestIdp, type TestIdp } from '../support/identity-provider.js'
import { AS, providerFetched, relayPolicy } from '../support/relay-stack.js'
import { gateway, mcpRoute, proxyBackend } from '../support/resources.js'
import { type Stack, startStack } from '../support/stack.js'
import { launchBrowser } from './support/browser.js'
import { inBrowser } from './support/person.js'

const tls = selfSigned('localhost')
const authorities = getCACertificates()

let server: McpServer
let idp: TestIdp
let stack: Stack
let browser: Browser
let page: Page
let origin: string

beforeAll(async () => {
  // The client is in this process, and its fetch has no other way to be told.
  setDefaultCACertificates([...authorities, tls.cert])
  ;[server, idp, browser] = await Promise.all([
    startMcpServer(),
    startTestIdp(idpOne, { sendIss: true }),
    launchBrowser([`--ignore-certificate-errors-spki-list=${keyHash(tls.cert)}`]),
  ])
  page = await browser.newPage()
  stack = await startStack({
    resources: (port) => [
      gateway([
        {
          name: 'https',
          port,
          protocol: 'HTTPS',
          tls: { mode: 'Terminate', certificateRefs: [{ kind: 'Secret', name: 'tls' }] },
        },
      ]),
      {
        apiVersion: 'v1',
        kind: 'Secret',
        type: 'kubernetes.io/tls',
        metadata: { name: 'tls' },
        stringData: { 'tls.crt': tls.cert, 'tls.key': tls.key },
      },
      proxyBackend('everything', server),
      proxyBackend('idp', idp),
      mcpRoute('mcp', 'everything'),
      relayPolicy(idp, `https://localhost:${String(port)}/mcp`, undefined),
    ],
  })
  origin = `https://localhost:${String(stack.port)}`
  await providerFetched(stack)
})

afterAll(async () => {
  setDefaultCACertificates(authorities)
  await browser.close()
  await stack.close()
  await Promise.all([server.close(), idp.close()])
})

/** Hash of the public key, by which Chromium can be made to trust a certificate. */
const keyHash = (certificate: string): string =>
  createHash('sha256')
    .update(new X509Certificate(certificate).publicKey.export({ type: 'spki', format: 'der' }))
    .digest('base64')

const kindsOf = (cookies: readonly string[]): readonly string[] =>
  cookies.map((cookie) => /^__Host-gatehouse-([a-z]+)/.exec(cookie)?.[1] ?? cookie).toSorted()

test('the official client logs in, by a browser that keeps and sends the cookies, and calls a tool', async () => {
  const set: string[] = []
  const sent: string[] = []
  page.on('response', (answer) => {
    if (answer.url().startsWith(origin))
      void answer.headerValues('set-cookie').then((values) => set.push(...values))
  })
  page.on('request', (request) => {
    if (request.url().startsWith(`${origin}${AS}/callback`))
      void request.headerValue('cookie').then((value) => sent.push(value ?? ''))
  })
  const pressed: string[] = []
  const { echo, calls } = await ts2(`${origin}/mcp`, 'alice', inBrowser(page, pressed))
  expect(echo).toBe('Echo: hi')
  expect(calls).toContain(`POST ${AS}/token 200`)
  expect(pressed).toEqual(['decision', 'user'])

  expect(kindsOf(set)).toEqual(['browser', 'consent', 'login', 'login'])
  for (const cookie of set)
    expect(cookie).toMatch(
      /^__Host-gatehouse-[\w-]+=[\w-]*; Path=\/; Max-Age=\d+; HttpOnly; SameSite=Lax; Secure$/,
    )
  expect(sent).toEqual([expect.stringMatching(/__Host-gatehouse-login-[\w-]+=[\w-]{43}/)])

  const kept = await page.context().cookies(origin)
  const ours = kept.filter(({ name }) => name.includes('gatehouse'))
  for (const cookie of ours)
    expect(cookie).toMatchObject({
      domain: 'localhost',
      path: '/',
      httpOnly: true,
      secure: true,
      sameSite: 'Lax',
    })
  // That of the login is gone with it.
  expect(kindsOf(ours.map(({ name }) => name))).toEqual(['browser', 'consent'])
})

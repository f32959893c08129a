// The status page in a real Chromium, of a Gatehouse that runs with a real Envoy: each part, live, by keyboard, on a
// phone's width, in dark and light, without scripts, and as axe judges it.

import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { startBackend } from '../support/backend.js'
import { startDocumentServer } from '../support/document-server.js'
import {
  answerJson,
  both,
  chat,
  completion,
  guardedRoute,
  hook,
  sample,
  service,
} from '../support/guardrails.js'
import { type Answer, bearer, send } from '../support/http.js'
import type { HttpServer } from '../support/http-server.js'
import { ISSUER, sign } from '../support/protected-stack.js'
import {
  allow,
  gateway,
  httpRoute,
  proxyBackend,
  proxyPolicy,
  remoteJwks,
  rule,
} from '../support/resources.js'
import { type Stack, startStack } from '../support/stack.js'
import { keySet, newKey } from '../support/tokens.js'
import { launchBrowser } from './support/browser.js'
import { program } from './support/tools.js'

const key = await newKey('one')

let parties: readonly HttpServer[]
let stack: Stack
let browser: Browser
let page: Page
let faults: string[]

beforeAll(async () => {
  const [idp, mcp, llm, webhook] = await Promise.all([
    ...([startDocumentServer(), startBackend('mcp')] as const),
    ...([startBackend('llm'), startBackend('webhook')] as const),
  ])
  parties = [idp, mcp, llm, webhook]
  idp.serve('/jwks', keySet(key))
  llm.answer(answerJson(completion('hello')))
  webhook.answer(sample)
  const tokens = {
    providers: [{ issuer: ISSUER, audiences: ['api'], jwks: remoteJwks('idp', idp.port, '/jwks') }],
  }
  stack = await startStack({
    resources: (port) => [
      gateway([port]),
      proxyBackend('idp', idp),
      proxyBackend('backend', mcp),
      proxyBackend('llm', llm),
      ...service('guard', webhook.port),
      ...['mcp', 'reports', 'search'].map((name) =>
        httpRoute(name, { rules: [rule(`/${name}`, 'backend')] }),
      ),
      proxyPolicy('mcp-tokens', 'mcp', { jwtAuthentication: tokens }),
      proxyPolicy('mcp-rules', 'mcp', { authorization: allow('jwt.role == "admin"') }),
      proxyPolicy('reports', 'reports', { authorization: allow('jwt.role ==') }),
      ...guardedRoute('/llm', both(hook('guard'))),
      proxyPolicy('llm-tokens', 'llm', { jwtAuthentication: tokens }),
    ],
  })
  browser = await launchBrowser()
  await eventually(async () => expect((await call('/mcp', { role: 'admin' })).status).toBe(200))
})

afterAll(async () => {
  await browser.close()
  await stack.close()
  await Promise.all(parties.map((party) => party.close()))
})

beforeEach(() => {
  faults = []
})
afterEach(() => {
  expect(faults).toEqual([])
  return page.context().close()
})

async function call(path: string, claims: object, body?: string): Promise<Answer> {
  const headers = bearer(await sign(key, { aud: 'api', ...claims }))
  return send(
    stack.origin,
    path,
    body === undefined
      ? { headers }
      : { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body },
  )
}

/** Opens the page in a context of its own. */
async function open(path = '/', options: BrowserContextOptions = {}): Promise<void> {
  const context = await browser.newContext(options)
  page = await context.newPage()
  page.on('pageerror', (error) => faults.push(error.message))
  // Chromium reports what the Content-Security-Policy stops, and failed requests, on the console.
  page.on('console', (message) => {
    if (message.type() === 'error') faults.push(message.text())
  })
  await page.goto(`${stack.admin}${path}`)
}

const live = (): Promise<unknown> => page.waitForSelector('#live[data-state="live"]')

async function openLive(path = '/', options: BrowserContextOptions = {}): Promise<void> {
  await open(path, options)
  await live()
}

const textOf = (selector: string): Promise<string> => page.locator(selector).first().innerText()

/** Texts of the items of a section. */
const itemsOf = (id: string): Promise<readonly string[]> =>
  page.locator(`#${id} [data-key]`).allInnerTexts()

const keysOf = (id: string): Promise<readonly (string | null)[]> =>
  page.evaluate(
    `[...document.querySelectorAll('#${id} [data-key]')].map((item) => item.getAttribute('data-key'))`,
  )

describe('each part', () => {
  test('the summary counts, and what needs attention begins with the open route', async () => {
    await openLive()
    expect(await textOf('#summary [data-key="routes"]')).toMatch(/4 routes\s+▲ 1 open/)
    expect(await textOf('#summary [data-key="envoys"]')).toMatch(/1 Envoy\s+● up to date/)
    const [search, reports] = await itemsOf('attention')
    expect(search).toContain('▲ Open HTTPRoute default/search')
    expect(reports).toMatch(/Problem ProxyPolicy default\/reports[\s\S]*Invalid/)
  })

  test('the map leads from a route to its policy, with file and line, and to what that asks', async () => {
    await openLive()
    expect(await keysOf('routes')).toEqual([
      'default/search',
      'default/reports',
      'default/llm',
      'default/mcp',
    ])
    const mcp = await textOf('#routes [data-key="default/mcp"]')
    for (const text of [
      '● Guarded',
      'token',
      'default/mcp-tokens',
      'resources.yaml:',
      ISSUER,
      '● Keys',
    ])
      expect(mcp).toContain(text)
    const llm = await textOf('#routes [data-key="default/llm"]')
    for (const text of ['guardrail', 'webhook for request and response'])
      expect(llm).toContain(text)
    expect(await textOf('#routes [data-key="default/search"]')).toContain(
      'No policy: anybody may use this route',
    )
  })

  test('key sets say when they were fetched, and Envoys what they acknowledged', async () => {
    await openLive()
    const [keys] = await itemsOf('keys')
    expect(keys).toMatch(/Key set[\s\S]*\/jwks[\s\S]*● Fresh[\s\S]*ago/)
    const [envoy] = await itemsOf('envoys')
    expect(envoy).toMatch(/● Up to date[\s\S]*Listener [0-9a-z]+/)
  })

  test('resources come with their conditions, problems first', async () => {
    await openLive()
    const [first, second] = await itemsOf('resources')
    expect(first).toMatch(/HTTPRoute[\s\S]*default\/search[\s\S]*▲ Open/)
    expect(second).toMatch(/ProxyPolicy[\s\S]*default\/reports[\s\S]*▲ Problem/)
  })
})

describe('live', () => {
  test('a denied request appears with its reason, rule and caller', async () => {
    await openLive()
    expect((await call('/mcp', { sub: 'mallory', role: 'guest' })).status).toBe(403)
    const row = page.locator('#decisions tr', { hasText: 'mallory' }).first()
    await row.waitFor()
    const text = await row.innerText()
    for (const part of [
      '▲ Denied 403',
      'GET 127.0.0.1',
      '/mcp',
      'default/mcp-rules',
      'resources.yaml:',
    ])
      expect(text).toContain(part)
    // The line has neither the token nor the body that the rules were asked about.
    expect(text).toContain('not without the whole request')
  })

  test('a token that is refused leads to a command that explains it', async () => {
    await openLive()
    expect((await call('/mcp', { sub: 'trent', aud: 'another' })).status).toBe(401)
    const row = page.locator('#decisions tr', { hasText: 'trent' }).first()
    await row.locator('summary').click()
    expect(await row.locator('.command').innerText()).toMatch(
      /^gatehouse explain --admin 127\.0\.0\.1:\d+ --token TOKEN_FILE --request 'GET http/,
    )
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await row.locator('button', { hasText: 'Copy' }).click()
    await row.locator('button', { hasText: 'Copied' }).waitFor()
    expect(await page.evaluate('navigator.clipboard.readText()')).toMatch(/^gatehouse explain /)
  })

  test('a request without a token leads to its explanation', async () => {
    await openLive()
    expect((await send(stack.origin, '/mcp')).status).toBe(401)
    const row = page.locator('#decisions tr', { hasText: 'no-token' }).first()
    await row.locator('a', { hasText: 'Explain' }).click()
    await page.waitForURL(/\/explain\?request=GET/)
    expect(await textOf('pre')).toMatch(/route +default\/mcp[\s\S]*answer +401/)
  })

  test('a verdict of a webhook that rejects appears', async () => {
    await openLive()
    expect((await call('/llm', { sub: 'bob' }, chat('block'))).status).toBe(403)
    const row = page.locator('#decisions tr', { hasText: 'a word' }).first()
    await row.waitFor()
    expect(await row.innerText()).toContain('promptGuard.request[0]')
  })

  test('a new open route appears first, without loading the page again, and goes again', async () => {
    await openLive()
    await page.evaluate(`document.body.setAttribute('data-same', 'yes')`)
    await stack.write('new.yaml', httpRoute('a-new-one', { rules: [rule('/new', 'backend')] }))
    await page.waitForSelector('#attention [data-key="open default/a-new-one"]')
    expect(await textOf('#summary [data-key="routes"]')).toContain('2 open')
    await stack.remove('new.yaml')
    await page.waitForSelector('#attention [data-key="open default/a-new-one"]', {
      state: 'detached',
    })
    expect(await page.getAttribute('body', 'data-same')).toBe('yes')
  })

  test('a change keeps the focus where it is, and Pause stops changes', async () => {
    await openLive()
    const link = page.locator('#routes [data-key="default/mcp"] h3 a')
    await link.focus()
    await stack.write('new.yaml', httpRoute('a-new-one', { rules: [rule('/new', 'backend')] }))
    await page.waitForSelector('#routes [data-key="default/a-new-one"]')
    expect(await page.evaluate('document.activeElement.textContent')).toBe('default/mcp')
    await page.click('#pause')
    expect(await page.getAttribute('#pause', 'aria-pressed')).toBe('true')
    expect(await textOf('#live')).toBe('Paused')
    await stack.remove('new.yaml')
    await expect
      .poll(async () => (await stack.status()).map(({ name }) => name))
      .not.toContain('a-new-one')
    expect(await keysOf('routes')).toContain('default/a-new-one')
    await page.click('#pause')
    await page.waitForSelector('#routes [data-key="default/a-new-one"]', { state: 'detached' })
  })

  test('typing searches all sections, and a policy leads to the routes that it guards', async () => {
    await openLive()
    await page.keyboard.press('/')
    await page.keyboard.type('guardrail')
    await page.waitForSelector('#routes [data-key="default/mcp"]', { state: 'detached' })
    expect(await keysOf('routes')).toEqual(['default/llm'])
    expect(new URL(page.url()).search).toBe('?q=guardrail')
    await page.fill('#search', '')
    await page.click('#routes [data-key="default/mcp"] a:text-is("default/mcp-tokens")')
    await page.waitForURL(/\?q=default%2Fmcp-tokens/)
    await page.waitForSelector('#routes [data-key="default/llm"]', { state: 'detached' })
    expect(await keysOf('routes')).toEqual(['default/mcp'])
    expect(await page.inputValue('#search')).toBe('default/mcp-tokens')
    await page.goBack()
    await page.waitForSelector('#routes [data-key="default/llm"]')
  })
})

/** Pictures for the README and docs/status-page.md, when UPDATE_SCREENSHOTS=1. */
async function screenshot(name: string): Promise<void> {
  const path = PICTURES.get(name)
  if (process.env['UPDATE_SCREENSHOTS'] !== '1' || path === undefined) return
  if (name !== 'on a phone') await page.setViewportSize({ width: 1120, height: 900 })
  // The folder of the test says nothing to readers.
  await page.evaluate(`for (const part of document.querySelectorAll('.dim'))
    part.textContent = part.textContent.replace(/\\/tmp\\/[^/]+\\//, 'gateway/')`)
  await page.screenshot({ path: resolve(import.meta.dirname, '../../docs/images', path) })
}

const PICTURES = new Map([
  ['light', 'status-page.png'],
  ['dark', 'status-page-dark.png'],
  ['on a phone', 'status-page-phone.png'],
])

describe('for everybody', () => {
  const PHONE = { width: 390, height: 800 }

  test.each([
    ['light', { colorScheme: 'light' }],
    ['dark', { colorScheme: 'dark' }],
    ['on a phone', { viewport: PHONE, colorScheme: 'light' }],
    ['explain', { colorScheme: 'dark' }],
  ] as const)('axe finds nothing wrong: %s', async (name, options) => {
    await call('/mcp', { sub: 'mallory', role: 'guest' })
    if (name === 'explain') await open('/explain?request=GET+http%3A%2F%2Fa%2F', { ...options })
    else await openLive('/', options)
    // Through the protocol: the page's own policy admits no other script.
    await page.evaluate(await readFile(program('axe-core', 'axe.min.js'), 'utf8'))
    const violations = await page.evaluate<readonly string[]>(
      `axe.run().then(({ violations }) =>
        violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' ')))`,
    )
    expect(violations).toEqual([])
    await screenshot(name)
  })

  test('nothing is wider than a phone', async () => {
    await openLive('/', { viewport: PHONE })
    expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBeLessThanOrEqual(
      PHONE.width,
    )
  })

  test('the first key moves to a link that skips the header', async () => {
    await openLive()
    await page.keyboard.press('Tab')
    expect(await textOf(':focus')).toBe('Skip to the content')
    await page.keyboard.press('Enter')
    expect(await page.evaluate('document.activeElement.id')).toBe('main')
  })

  test('whoever prefers reduced motion sees none', async () => {
    await openLive('/', { reducedMotion: 'reduce' })
    expect(await page.evaluate('getComputedStyle(document.documentElement).scrollBehavior')).toBe(
      'auto',
    )
  })

  test('without scripts the page is complete, and searches', async () => {
    await open('/', { javaScriptEnabled: false })
    expect(await textOf('#summary [data-key="routes"]')).toContain('4 routes')
    expect(await page.isVisible('#pause')).toBe(false)
    await page.fill('#search', 'default/llm')
    await page.click('button:text-is("Search")')
    expect(await keysOf('routes')).toEqual(['default/llm'])
  })
})

test('with a token, a browser that was given it stays live', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-page-'))
  const file = join(folder, 'token')
  const guarded = await startStack({
    flags: ['--admin-token-file', file],
    resources: (port) => [gateway([port])],
  })
  try {
    expect((await fetch(`${guarded.admin}/events`)).status).toBe(401)
    const password = (await readFile(file, 'utf8')).trim()
    const context = await browser.newContext({ httpCredentials: { username: '', password } })
    page = await context.newPage()
    await page.goto(guarded.admin)
    await live()
    expect(await page.content()).not.toContain(password)
  } finally {
    await guarded.close()
    await rm(folder, { recursive: true })
  }
})

test('a script in a name that a tenant chose does not run', async () => {
  await openLive(`/?q=${encodeURIComponent('"><script>document.title="owned"</script>')}`)
  expect(await page.title()).toBe('Gatehouse')
  expect(await page.inputValue('#search')).toContain('<script>')
})

// What a page of another origin can do at a relay in Chromium, with a browser that has consented and with the token of a
// consent form: it reads nothing, approves nothing, and sends nobody to the provider. The other page is on another site,
// or on another port of the same host, where the browser sends the relay's cookies.

import type { RequestListener } from 'node:http'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type HttpServer, startHttpServer } from '../support/http-server.js'
import { authorizationAt, registerAt } from '../support/relay-login.js'
import { AS, type RelayStack, startRelayStack } from '../support/relay-stack.js'
import { launchBrowser } from './support/browser.js'
import { inBrowser } from './support/person.js'

let world: RelayStack
let site: HttpServer
/** Serves the redirect URI of the client. */
let client: HttpServer
let browser: Browser
/** A login for which the browser has consent, and the same login that asks again. */
let remembered: URL
let asking: URL

const page: RequestListener = (_request, response) => {
  response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><body>a page')
}

let context: BrowserContext
/** The consent page, and the page of another origin beside it. */
let own: Page
let other: Page

beforeAll(async () => {
  ;[site, client, world, browser] = await Promise.all([
    startHttpServer(page),
    startHttpServer(page),
    startRelayStack(),
    launchBrowser(),
  ])
  const { origin } = world.stack
  const id = await registerAt(origin, `${client.origin}/callback`)
  remembered = authorizationAt(origin, id, 'v'.repeat(43), {
    redirect_uri: `${client.origin}/callback`,
  })
  // With it, the provider would show no page.
  remembered.searchParams.delete('login_hint')
  asking = new URL(`${remembered.href}&prompt=consent`)
})

afterAll(async () => {
  await browser.close()
  await Promise.all([world.close(), site.close(), client.close()])
})

/** Logs in once, so that consent is remembered, and shows the consent page of the login that asks again. */
beforeEach(async () => {
  context = await browser.newContext()
  own = await context.newPage()
  await inBrowser(own)(remembered)
  await own.waitForURL(`${client.origin}/callback**`)
  await own.goto(asking.href)
  other = await context.newPage()
  return () => context.close()
})

const token = (): Promise<string> => own.locator('input[name=token]').inputValue()

/** Runs the body of an async function in the page of another origin. names: its variables, whose values are JSON. */
function inOther(body: string, names: Readonly<Record<string, unknown>>): Promise<unknown> {
  const variables = Object.entries(names).map(
    ([name, value]) => `const ${name} = ${JSON.stringify(value)}`,
  )
  return other.evaluate(`(async () => { ${[...variables, body].join('; ')} })()`)
}

/** Fetches with and without CORS: the types of the answers, or the errors. */
const FETCH = `return Promise.all(['cors', 'no-cors'].map((mode) =>
  fetch(url, { mode, credentials: 'include', method, ...(fields && { body: new URLSearchParams(fields) }) })
    .then(({ type }) => type, String)))`

const SUBMIT = `document.body.innerHTML = '<iframe name="frame"></iframe><form method="post"></form>'
  const [form] = document.forms
  Object.assign(form, { action: url, target })
  for (const [name, value] of Object.entries(fields))
    form.append(Object.assign(document.createElement('input'), { name, value }))
  form.submit()`

const FRAME = `document.body.append(Object.assign(document.createElement('iframe'), { src: url }))`

describe.each(['127.0.0.1', 'localhost'])('a page on another port of %s', (host) => {
  beforeEach(async () => {
    await other.goto(`http://${host}:${String(site.port)}/`)
    world.logins.length = 0
  })

  /** Approves on the gateway's own page: the token was good, and only this login reaches the provider. */
  const expectHarmless = async (): Promise<void> => {
    expect(world.logins).toEqual([])
    await own.locator('button[value=allow]').click()
    await own.locator('button[name=user][value=alice]').click()
    await own.waitForURL(`${client.origin}/callback**`)
    expect(world.logins).toHaveLength(1)
  }

  /** The status of the relay's answer to the page. */
  const status = async (method: string): Promise<number> => {
    const answer = await other.waitForResponse(
      (one) => one.url().includes(`${AS}/authorize`) && one.request().method() === method,
    )
    return answer.status()
  }

  const approval = async () => ({ token: await token(), decision: 'allow' })

  test('neither reads an answer by fetch nor begins a login', async () => {
    const names = { url: remembered.href, method: 'GET', fields: null }
    const [code, types] = await Promise.all([status('GET'), inOther(FETCH, names)])
    expect([code, types]).toEqual([403, ['TypeError: Failed to fetch', 'opaque']])
    await expectHarmless()
  })

  test('approves nothing by fetch, with the token of the form', async () => {
    const names = { url: asking.href, method: 'POST', fields: await approval() }
    const [code, types] = await Promise.all([status('POST'), inOther(FETCH, names)])
    expect([code, types]).toEqual([403, ['TypeError: Failed to fetch', 'opaque']])
    await expectHarmless()
  })

  test.each(['_self', 'frame'])('approves nothing by a form, shown in %s', async (target) => {
    const names = { url: asking.href, target, fields: await approval() }
    const [code] = await Promise.all([status('POST'), inOther(SUBMIT, names)])
    expect(code).toBe(403)
    await expectHarmless()
  })

  test('begins no login in a frame', async () => {
    const [code] = await Promise.all([status('GET'), inOther(FRAME, { url: remembered.href })])
    expect(code).toBe(403)
    await expectHarmless()
  })
})

test('the same browser, in a window of its own, is sent to the provider without being asked', async () => {
  world.logins.length = 0
  await other.goto(remembered.href)
  await other.locator('button[name=user][value=alice]').waitFor()
  expect(world.logins).toHaveLength(1)
})

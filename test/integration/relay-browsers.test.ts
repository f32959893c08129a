// What pages of other origins can do at a relay, through a route whose CORS filter allows every origin: nothing on its
// pages.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { REDIRECT_URI } from '../support/clients/client-run.js'
import { ask, type CookieJar, walk } from '../support/clients/consenting-agent.js'
import { send } from '../support/http.js'
import { authorizationAt, registerAt } from '../support/relay-login.js'
import { AS, type RelayStack, startRelayStack } from '../support/relay-stack.js'

const EVIL = 'https://evil.example'

let world: RelayStack
let authorization: URL

beforeAll(async () => {
  world = await startRelayStack()
  authorization = authorizationAt(
    world.stack.origin,
    await registerAt(world.stack.origin),
    'v'.repeat(43),
  )
})

afterAll(() => world.close())

const corsOf = (headers: Headers): readonly string[] =>
  [...headers.keys()].filter((name) => name.startsWith('access-control-'))

describe.each(['authorize', 'callback'])('%s', (endpoint) => {
  test('has no CORS headers', async () => {
    const answer = await fetch(`${world.stack.origin}${AS}/${endpoint}${authorization.search}`, {
      headers: { origin: EVIL },
    })
    expect(corsOf(answer.headers)).toEqual([])
    expect(answer.headers.get('content-security-policy')).toBe(
      "default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
    )
  })

  test('answers no preflight', async () => {
    const answer = await fetch(`${world.stack.origin}${AS}/${endpoint}`, {
      method: 'OPTIONS',
      headers: { origin: EVIL, 'access-control-request-method': 'POST' },
    })
    expect([answer.status, corsOf(answer.headers)]).toEqual([405, []])
  })
})

test.each(['token', 'client-registration'])(
  '%s is for clients in browsers too',
  async (endpoint) => {
    const answer = await fetch(`${world.stack.origin}${AS}/${endpoint}`, {
      method: 'POST',
      headers: { origin: EVIL, 'content-type': 'application/json' },
      body: '{}',
    })
    expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([400, EVIL])
  },
)

describe('a page of another origin', () => {
  test('approves nothing by a form, though it has read the token somewhere', async () => {
    const cookies: CookieJar = new Map()
    const page = await ask(authorization, undefined, cookies)
    const token = /name="token" value="([^"]+)"/.exec(page.body)?.[1] ?? ''
    const form = new URLSearchParams({ token, decision: 'allow' })
    const answer = await ask(authorization, form, cookies, { origin: EVIL })
    expect([answer.status, answer.headers.get('location')]).toEqual([403, null])
    expect((await ask(authorization, form, cookies)).status).toBe(303)
  })

  test('gets nothing by a script or a frame, though the browser remembers consent', async () => {
    const cookies: CookieJar = new Map()
    await walk(authorization, { cookies })
    for (const destination of ['empty', 'iframe', 'image']) {
      const answer = await ask(authorization, undefined, cookies, { 'sec-fetch-dest': destination })
      expect([answer.status, answer.headers.get('location')]).toEqual([403, null])
    }
    const answer = await ask(authorization, undefined, cookies, { 'sec-fetch-dest': 'document' })
    expect(answer.status).toBe(303)
  })

  test('ends no login that another browser has begun', async () => {
    const { steps } = await walk(authorization)
    const callback = steps.find(({ url }) => url.pathname.endsWith('/callback'))?.url
    const answer = await ask(callback ?? authorization, undefined, new Map())
    expect([answer.status, answer.headers.get('location')]).toEqual([400, null])
  })
})

test('a denial is sent to the client', async () => {
  const { end } = await walk(authorization, { decision: 'deny' })
  expect(end.href.startsWith(REDIRECT_URI)).toBe(true)
  expect(Object.fromEntries(end.searchParams)).toMatchObject({
    error: 'access_denied',
    state: 'state-of-the-client',
    iss: world.url,
  })
})

test('a form without end is refused', async () => {
  const { status } = await send(world.stack.origin, `${AS}/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: 'x'.repeat(70_000),
  })
  expect(status).toBe(413)
})

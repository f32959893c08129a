// Client metadata documents: which are read, how long they are cached, and what happens if their host does not answer.

import { describe, expect, test } from 'vitest'
import { createClientDocuments } from '../../../../src/addons/relay/extproc/relay-deps.js'
import { createRates } from '../../../../src/extproc/session/rates.js'
import { createSlots } from '../../../../src/extproc/session/slots.js'
import type { CallRemote, RemoteRequest } from '../../../../src/kit/http/http-call.js'
import { err, ok } from '../../../../src/kit/result.js'

const URL_OF_CLIENT = 'https://clients.example/a.json'
const DOCUMENT = {
  client_id: URL_OF_CLIENT,
  client_name: 'Tester',
  redirect_uris: ['http://127.0.0.1/cb'],
  token_endpoint_auth_method: 'none',
}
const CLIENT = { id: URL_OF_CLIENT, name: 'Tester', redirectUris: DOCUMENT.redirect_uris }
const STAY = new AbortController().signal

const served =
  (
    body: unknown = DOCUMENT,
    headers: Readonly<Record<string, string>> = {},
    status = 200,
  ): CallRemote =>
  () =>
    Promise.resolve(
      ok({
        status,
        headers: { 'content-type': 'application/json', ...headers },
        body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
      }),
    )

function createWorld(call: CallRemote) {
  const world = { now: 0, call, requests: [] as (RemoteRequest & { readonly url: string })[] }
  const documents = createClientDocuments({
    callPublic: (target, request) => {
      world.requests.push({ url: target.url, ...request })
      return world.call(target, request)
    },
    slots: createSlots(2),
    rates: createRates({ perSecond: 1, burst: 5 }, () => world.now),
    now: () => world.now,
  })
  return { world, get: (url = URL_OF_CLIENT, signal = STAY) => documents.get(url, signal) }
}

test('a document is read once, and again when its headers say so', async () => {
  const { world, get } = createWorld(served(DOCUMENT, { 'cache-control': 'max-age=60' }))
  expect(await get()).toMatchObject({ ok: true, value: CLIENT })
  world.now += 59_999
  expect(await get()).toMatchObject({ ok: true })
  expect(world.requests).toMatchObject([{ url: URL_OF_CLIENT, timeoutMs: 5000, maxBytes: 65_536 }])
  world.now += 1
  await get()
  expect(world.requests).toHaveLength(2)
})

const at = (seconds: number): string => new Date(seconds * 1000).toUTCString()

test.each<[Readonly<Record<string, string>>, number]>([
  [{}, 300_000],
  [{ 'cache-control': 'no-store' }, 10_000],
  [{ 'cache-control': 'max-age=31536000' }, 86_400_000],
  [{ 'cache-control': 'max-age=600', age: '500' }, 100_000],
  [{ 'cache-control': 'max-age=600', age: '700' }, 10_000],
  [{ 'cache-control': 'max-age=600', age: 'old' }, 600_000],
  [{ expires: at(1600), date: at(1500) }, 100_000],
  [{ expires: at(1600), date: at(1500), age: '40' }, 60_000],
  [{ expires: at(1600) }, 1_600_000],
  [{ expires: '0' }, 10_000],
  [{ expires: 'Wed, 99 Abc 2099 00:00:00 GMT' }, 10_000],
  [{ expires: at(1600), date: at(1500), 'cache-control': 'max-age=50' }, 50_000],
])('with %j it is kept for %d ms', async (headers, ms) => {
  const { world, get } = createWorld(served(DOCUMENT, headers))
  await get()
  world.now += ms - 1
  await get()
  expect(world.requests).toHaveLength(1)
  world.now += 1
  await get()
  expect(world.requests).toHaveLength(2)
})

test.each<[string, CallRemote]>([
  ['of another URL', served({ ...DOCUMENT, client_id: 'https://clients.example/b.json' })],
  ['that is no JSON', served('<html>')],
  ['that is a list', served([])],
  ['that nests without end', served('['.repeat(100))],
  ['of another type', served(DOCUMENT, { 'content-type': 'text/html' })],
  ['of another status', served(DOCUMENT, {}, 201)],
  ['that redirects', () => Promise.resolve(err({ type: 'redirect', status: 302 }))],
  ['that is too large', () => Promise.resolve(err({ type: 'too-large', maxBytes: 65_536 }))],
  [
    'that hangs past its deadline',
    () => Promise.resolve(err({ type: 'timeout', timeoutMs: 5000 })),
  ],
  [
    'at an address that is refused',
    () => Promise.resolve(err({ type: 'forbidden-address', host: 'h', why: 'w' })),
  ],
])('one %s is not asked for again for half a minute', async (_, call) => {
  const { world, get } = createWorld(call)
  expect((await get()).ok).toBe(false)
  world.call = served()
  world.now += 29_999
  expect((await get()).ok).toBe(false)
  expect(world.requests).toHaveLength(1)
  world.now += 1
  expect((await get()).ok).toBe(true)
})

describe('a host', () => {
  test('of a person who leaves: nothing is remembered, and the next is asked', async () => {
    const { world, get } = createWorld(
      (_, { signal }) =>
        new Promise((resolve) => {
          signal?.addEventListener('abort', () => resolve(err({ type: 'aborted' })))
        }),
    )
    const leaving = new AbortController()
    const waiting = [1, 2].map((at) => get(`https://clients.example/${at}.json`, leaving.signal))
    expect((await get()).ok).toBe(false)
    expect(world.requests).toHaveLength(2)
    leaving.abort()
    expect((await Promise.all(waiting)).map((one) => one.ok)).toEqual([false, false])
    world.call = served()
    expect((await get()).ok).toBe(true)
  })

  test('is asked within a limit; others are still asked', async () => {
    const { world, get } = createWorld(served('{}'))
    for (let at = 0; at < 8; at += 1) await get(`https://clients.example/${at}.json`)
    expect(world.requests).toHaveLength(5)
    world.call = served({ ...DOCUMENT, client_id: 'https://other.example/a.json' })
    expect((await get('https://other.example/a.json')).ok).toBe(true)
  })
})

describe('a flood of documents that are not there', () => {
  async function flooded(hosts: number, more = '') {
    const headers = { 'cache-control': `max-age=60${more}` }
    const { world, get } = createWorld(served(DOCUMENT, headers))
    await get()
    world.call = served('{}')
    for (let at = 0; at < 600; at += 1)
      await get(`https://${hosts === 1 ? 'clients' : `host-${at}`}.example/none-${at}.json`)
    return { world, get, asked: world.requests.length }
  }

  test('at other hosts displaces no document', async () => {
    const { world, get, asked } = await flooded(600)
    expect(await get()).toMatchObject({ ok: true, value: CLIENT })
    expect(world.requests).toHaveLength(asked)
  })

  test('at the host of a document leaves it in use, for a day at most', async () => {
    const { world, get } = await flooded(1)
    world.now += 60_000
    for (let at = 0; at < 60; at += 1) await get(`https://clients.example/more-${at}.json`)
    expect(await get()).toMatchObject({ ok: true, value: CLIENT })
    world.now += 86_340_000
    for (let at = 0; at < 60; at += 1) await get(`https://clients.example/last-${at}.json`)
    expect((await get()).ok).toBe(false)
    world.now += 1000
    expect((await get()).ok).toBe(false)
  })

  test.each(['must-revalidate', 'no-cache'])(
    'at the host of a document with %s ends its use when it is no longer fresh',
    async (directive) => {
      const { world, get } = await flooded(1, `, ${directive}`)
      world.now += 60_000
      for (let at = 0; at < 60; at += 1) await get(`https://clients.example/more-${at}.json`)
      expect((await get()).ok).toBe(false)
    },
  )

  test('does not keep one that its host has taken back', async () => {
    const { world, get } = createWorld(served(DOCUMENT, { 'cache-control': 'max-age=60' }))
    await get()
    world.now += 60_000
    world.call = served('gone', {}, 404)
    expect((await get()).ok).toBe(false)
    for (let at = 0; at < 60; at += 1) await get(`https://clients.example/more-${at}.json`)
    world.now += 30_000 - 1
    expect((await get()).ok).toBe(false)
  })
})

test('the number of kept documents is limited', async () => {
  const call: CallRemote = ({ url }) =>
    served({ ...DOCUMENT, client_id: url })({ url } as never, {} as never)
  const { world, get } = createWorld(call)
  const urls = Array.from({ length: 520 }, (_, at) => `https://host-${at}.example/a.json`)
  for (const url of urls) await get(url)
  await get(urls.at(-1))
  expect(world.requests).toHaveLength(520)
  await get(urls[0])
  expect(world.requests).toHaveLength(521)
})

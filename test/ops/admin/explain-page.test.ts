// /explain on the admin address: its page, what a POST takes, what it rejects, and that nothing of a description reaches the log.

import { once } from 'node:events'
import { connect } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import {
  type AdminOptions,
  type AdminServer,
  type AdminSource,
  startAdminServer,
} from '../../../src/ops/admin/admin-server.js'
import type { ExplainSource } from '../../../src/ops/admin/explain-page.js'
import { pageState } from '../../support/page-state.js'

let server: AdminServer | undefined
let logged: string[] = []
afterEach(async () => {
  await server?.close()
  logged = []
})

const log = (fields: object, message: string): void =>
  void logged.push(`${JSON.stringify(fields)} ${message}`)

async function start(explain: ExplainSource, options: Partial<AdminOptions> = {}): Promise<string> {
  const page = () => Promise.resolve(pageState())
  const source = { explain, page } as unknown as AdminSource
  const address = { type: 'tcp', host: '127.0.0.1', port: 0 } as const
  const logger = { debug: log, info: log, warn: log, error: log }
  server = await startAdminServer({ address, source, logger, pages: 'all', ...options })
  return `http://${server.address}`
}

const JSON_TYPE = { 'content-type': 'application/json' }
const echo: ExplainSource = (text) => {
  const given = String(text)
  return Promise.resolve({ ok: true, value: { json: { text: given }, text: `about ${given}` } })
}

const post = (base: string, body: string, headers: Record<string, string> = JSON_TYPE) =>
  fetch(`${base}/explain`, { method: 'POST', body, headers })

test('a description is passed on, and its explanation is the answer', async () => {
  const answer = await post(await start(echo), '{"request":"GET http://a/"}')
  expect(answer.status).toBe(200)
  expect(await answer.json()).toEqual({ text: '{"request":"GET http://a/"}' })
})

test('a mistake in the description is 400 with its sentence', async () => {
  const base = await start(() => Promise.resolve({ ok: false, error: 'request: expected …' }))
  const answer = await post(base, '{}')
  expect([answer.status, await answer.text()]).toEqual([400, 'request: expected …\n'])
})

test('other methods, other types and other sites are rejected', async () => {
  const base = await start(echo)
  const put = await fetch(`${base}/explain`, { method: 'PUT' })
  expect([put.status, put.headers.get('allow')]).toEqual([405, 'GET, HEAD, POST'])
  expect((await post(base, '{}', { 'content-type': 'text/plain' })).status).toBe(415)
  const foreign = { ...JSON_TYPE, origin: 'https://evil.example' }
  expect((await post(base, '{}', foreign)).status).toBe(403)
})

const getPage = (base: string, request: string) =>
  fetch(`${base}/explain?${new URLSearchParams({ request }).toString()}`)

test('the page shows the explanation of a request without a token, and the command for one with a token', async () => {
  const answer = await getPage(await start(echo), 'GET http://a/<b>')
  expect([answer.status, answer.headers.get('content-type')]).toEqual([
    200,
    'text/html; charset=utf-8',
  ])
  const page = await answer.text()
  expect(page).toContain('about {&quot;request&quot;:&quot;GET http://a/&lt;b&gt;&quot;}')
  expect(page).toContain('--token TOKEN_FILE --request &#39;GET http://a/&lt;b&gt;&#39;')
})

test('the page says what is wrong with a request, and offers no command for one that a terminal would obey', async () => {
  const base = await start(() => Promise.resolve({ ok: false, error: 'request: expected <…>' }))
  const answer = await getPage(base, 'GET http://a/\u001b[2J')
  expect(answer.status).toBe(400)
  const page = await answer.text()
  expect(page).toContain('request: expected &lt;…&gt;')
  expect(page).not.toContain('--request')
})

test('the page asks for a request where none is given', async () => {
  const answer = await fetch(`${await start(echo)}/explain`)
  expect(answer.status).toBe(200)
  expect(await answer.text()).toContain('name="request"')
})

test('it needs the token of the pages, and is not among the probes', async () => {
  const token = { isGiven: (given?: string) => Promise.resolve(given === 'Bearer admin') }
  const base = await start(echo, { token })
  expect((await post(base, '{}')).status).toBe(401)
  expect((await getPage(base, 'GET http://a/')).status).toBe(401)
  expect((await post(base, '{}', { ...JSON_TYPE, authorization: 'Bearer admin' })).status).toBe(200)
  await server?.close()
  expect((await post(await start(echo, { pages: 'probes' }), '{}')).status).toBe(405)
})

test('a description of more than 1 MiB is 413', async () => {
  const answer = await post(await start(echo), ' '.repeat(1024 * 1024 + 1))
  expect(answer.status).toBe(413)
})

test('a fifth description at once is 503, and the others are explained', async () => {
  let release = (): void => undefined
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  let waiting = 0
  const base = await start(async (text) => {
    waiting += 1
    await released
    return echo(text)
  })
  const first = [1, 2, 3, 4].map(() => post(base, '{}'))
  await expect.poll(() => waiting).toBe(4)
  const fifth = await post(base, '{}')
  expect([fifth.status, fifth.headers.get('retry-after')]).toEqual([503, '1'])
  release()
  expect((await Promise.all(first)).map(({ status }) => status)).toEqual([200, 200, 200, 200])
  expect((await post(base, '{}')).status).toBe(200)
})

test('a client that leaves in the middle frees its place', async () => {
  const base = await start(echo)
  const { hostname, port } = new URL(base)
  for (let left = 0; left < 8; left += 1) {
    const socket = connect(Number(port), hostname)
    const head = `POST /explain HTTP/1.1\r\nHost: ${hostname}\r\n`
    socket.write(`${head}Content-Type: application/json\r\nContent-Length: 9\r\n\r\n{`)
    await once(socket, 'connect')
    socket.destroy()
  }
  await expect.poll(async () => (await post(base, '{}')).status).toBe(200)
})

test('a failure is 500, and nothing of the description is logged', async () => {
  const base = await start((text) => Promise.reject(new Error(`failed with ${String(text)}`)))
  const answer = await post(base, '{"token":"s3cret"}')
  expect([answer.status, await answer.text()]).toEqual([500, 'internal error\n'])
  expect(logged).toEqual([expect.stringContaining('a request could not be explained')])
  expect(logged.join()).not.toContain('s3cret')
})

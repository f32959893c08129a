// Live updates of the status page, as a browser gets them: events, bounds, and visitors that leave or do not read.

import type { ServerResponse } from 'node:http'
import { Writable } from 'node:stream'
import { afterEach, expect, test } from 'vitest'
import { type AdminServer, startAdminServer } from '../../../src/ops/admin/admin-server.js'
import { LiveUpdates, MAX_VISITORS } from '../../../src/ops/admin/live-updates.js'
import { readPageQuery } from '../../../src/ops/admin/page/page-query.js'
import type { PageState, SectionChange } from '../../../src/ops/admin/page/page-view.js'
import { eventually } from '../../../testing/eventually.js'
import { emptyReport, mappedRoute, pageState } from '../../support/page-state.js'

const quiet = { debug() {}, info() {}, warn() {}, error() {} }

let server: AdminServer | undefined
const visits: AbortController[] = []
afterEach(async () => {
  for (const visit of visits.splice(0)) visit.abort()
  await server?.close()
})

interface Started {
  readonly base: string
  readonly show: (state: PageState) => void
  readonly errors: unknown[]
  /** How often the state was read. */
  readonly reads: () => number
}

async function start(first: PageState | Error = pageState()): Promise<Started> {
  let shown = first
  let reads = 0
  const errors: unknown[] = []
  const never = (): never => {
    throw new Error('nobody asks')
  }
  server = await startAdminServer({
    address: { type: 'tcp', host: '127.0.0.1', port: 0 },
    pages: 'all',
    logger: { ...quiet, error: (...line) => errors.push(line) },
    source: {
      status: never,
      readiness: never,
      configDump: never,
      metrics: never,
      explain: never,
      page() {
        reads += 1
        return shown instanceof Error ? Promise.reject(shown) : Promise.resolve(shown)
      },
    },
  })
  return {
    base: `http://${server.address}`,
    show: (state) => (shown = state),
    errors,
    reads: () => reads,
  }
}

/** Opens a stream; next() returns the changes of its next event. */
async function visit(url: string) {
  const leave = new AbortController()
  visits.push(leave)
  const answer = await fetch(url, { signal: leave.signal })
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  return {
    answer,
    leave: () => leave.abort(),
    async next(): Promise<readonly SectionChange[]> {
      for (;;) {
        const event = /^data: (.*)\n\n/m.exec(text)
        if (event !== null) {
          text = text.slice(event.index + event[0].length)
          return JSON.parse(event[1] ?? '') as readonly SectionChange[]
        }
        const piece = await reader?.read()
        if (piece === undefined || piece.done) throw new Error('the stream has ended')
        text += piece.value
      }
    },
  }
}

test('the first event has the whole view, and the next only what has changed', async () => {
  const { base, show } = await start(pageState({ routes: [mappedRoute('default/a')] }))
  const visitor = await visit(`${base}/events`)
  expect(visitor.answer.headers.get('content-type')).toBe('text/event-stream')
  expect((await visitor.next()).map(({ id }) => id)).toContain('routes')
  show(pageState({ routes: [mappedRoute('default/a'), mappedRoute('default/b')] }))
  const routes = (await visitor.next()).find(({ id }) => id === 'routes')
  expect(routes?.keys).toEqual(['default/a', 'default/b'])
  expect(Object.keys(routes?.items ?? {})).toEqual(['default/b'])
})

test('each visitor gets the view that it asks for', async () => {
  const routes = [mappedRoute('default/a'), mappedRoute('default/b')]
  const { base } = await start(pageState({ routes }))
  const visitor = await visit(`${base}/events?q=default/b`)
  const shown = (await visitor.next()).find(({ id }) => id === 'routes')
  expect(shown?.keys).toEqual(['default/b'])
})

test('visitors beyond the limit are told to retry, and one that leaves makes room', async () => {
  const { base } = await start()
  const visitors = await Promise.all(
    Array.from({ length: MAX_VISITORS }, () => visit(`${base}/events`)),
  )
  for (const { answer } of visitors) expect(answer.status).toBe(200)
  const refused = await fetch(`${base}/events`)
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '10'])
  expect((await fetch(`${base}/healthz`)).status).toBe(200)
  visitors[0]?.leave()
  await eventually(async () => {
    const again = await visit(`${base}/events`)
    expect(again.answer.status).toBe(200)
  })
})

test('visitors share one reading of the state', async () => {
  const { base, reads } = await start()
  const visitors = await Promise.all(Array.from({ length: 8 }, () => visit(`${base}/events`)))
  await Promise.all(visitors.map((visitor) => visitor.next()))
  expect(reads()).toBeLessThan(8)
})

test('when the state cannot be read, the stream ends, the log says so, and the server goes on', async () => {
  const { base, errors } = await start(new Error('secret'))
  const visitor = await visit(`${base}/events`)
  await expect(visitor.next()).rejects.toThrow('the stream has ended')
  expect(errors).toHaveLength(1)
  expect(JSON.stringify(errors)).not.toContain('secret')
  expect((await fetch(`${base}/healthz`)).status).toBe(200)
})

/** A response whose client takes all that is written, or nothing. */
function response(isRead: boolean) {
  const events: string[] = []
  const written = new Writable({
    highWaterMark: 1,
    write(piece: Buffer, _encoding, taken) {
      events.push(piece.toString())
      if (isRead) taken()
    },
  })
  return { events, written: written as unknown as ServerResponse }
}

function open(live: LiveUpdates, to: ServerResponse): void {
  const { body } = live.answer(readPageQuery(''))
  if (typeof body === 'function') body(to)
}

test('a visitor that does not read costs nothing more, and holds up no other', async () => {
  let revision = 0
  const state = () => {
    const report = emptyReport({ revision: String((revision += 1)) })
    return Promise.resolve(pageState({ report }))
  }
  const live = new LiveUpdates({ state, logger: quiet, everyMs: 1 })
  const [stuck, reader] = [response(false), response(true)]
  open(live, stuck.written)
  open(live, reader.written)
  await eventually(() => expect(reader.events.length).toBeGreaterThan(20))
  expect(stuck.events).toHaveLength(1)
  for (const { written } of [stuck, reader]) written.destroy()
})

test('visitors of the same view share its sections', async () => {
  let made = 0
  const routes = new Proxy([mappedRoute('default/a')], {
    get(target, name) {
      if (name === Symbol.iterator) made += 1
      return Reflect.get(target, name) as unknown
    },
  })
  const state = pageState({ routes })
  const live = new LiveUpdates({ state: () => Promise.resolve(state), logger: quiet, everyMs: 1 })
  const visitors = Array.from({ length: 8 }, () => response(true))
  for (const { written } of visitors) open(live, written)
  await eventually(() => {
    for (const { events } of visitors) expect(events).toHaveLength(1)
  })
  expect(made).toBe(1)
  for (const { written } of visitors) written.destroy()
})

test('visitors that leave make room even while the state is never read', async () => {
  const state = () => new Promise<PageState>(() => undefined)
  const live = new LiveUpdates({ state, logger: quiet })
  const waiting = Array.from({ length: MAX_VISITORS }, () => response(true))
  for (const { written } of waiting) open(live, written)
  expect(live.answer(readPageQuery('')).status).toBe(503)
  for (const { written } of waiting) written.destroy()
  await eventually(() => expect(live.answer(readPageQuery('')).status).toBe(200))
})

test('another site, another Host and other methods get no events', async () => {
  const { base } = await start()
  const statusOf = async (init: RequestInit): Promise<number> =>
    (await fetch(`${base}/events`, init)).status
  expect(await statusOf({ headers: { 'sec-fetch-site': 'cross-site' } })).toBe(403)
  expect(await statusOf({ headers: { origin: 'https://evil.example' } })).toBe(403)
  expect(await statusOf({ method: 'POST' })).toBe(405)
  expect(await statusOf({ method: 'HEAD' })).toBe(200)
})

// ext_proc streams: which entry they get, the order in which messages are handled, and that no stream ends in a way
// that lets a request through.

import { status } from '@grpc/grpc-js'
import { afterEach, describe, expect, test } from 'vitest'
import { createProcessService } from '../../src/extproc/process-service.js'
import type { CallRemote } from '../../src/kit/http/http-call.js'
import type { Logger } from '../../src/kit/logger.js'
import type { ProcEntry, WellKnownEntry } from '../../src/model/proc-entry.js'
import { eventually } from '../../testing/eventually.js'
import { AS, entry, KEY, PRM, proxied, REGISTRATION } from './support/entries.js'
import { guardrails } from './support/guards.js'
import { body, headerMap, replyIn, request } from './support/messages.js'
import { buildProcTable } from './support/proc-table.js'
import { type Message, type ProcServer, startProcServer } from './support/stream.js'

const closing: ProcServer[] = []
afterEach(async () => {
  await Promise.all(closing.splice(0).map((server) => server.close()))
})

async function serve(entries: readonly ProcEntry[], callRemote?: CallRemote) {
  let table = buildProcTable(entries)
  const logs: unknown[] = []
  const log = (fields: object, message: string) => void logs.push({ ...fields, message })
  const logger: Logger = { debug: log, info: log, warn: log, error: log }
  const service = createProcessService({
    guardrails: guardrails(),
    table: () => table,
    callRemote: callRemote ?? (() => Promise.reject(new Error('no call expected: secret'))),
    now: () => 0,
    logger,
  })
  const server = await startProcServer(service)
  closing.push(server)
  return {
    server,
    service,
    logs,
    setTable: (next: readonly ProcEntry[]) => (table = buildProcTable(next)),
  }
}

/** A provider that never answers, and whether its caller gave up. */
function hanging() {
  let abort = () => {}
  const aborted = new Promise<void>((resolve) => (abort = resolve))
  let called = () => {}
  const calls = new Promise<void>((resolve) => (called = resolve))
  const callRemote: CallRemote = (_target, { signal }) => {
    called()
    return new Promise((resolve) => {
      signal?.addEventListener('abort', () => {
        abort()
        resolve({ ok: false, error: { type: 'aborted' } })
      })
    })
  }
  return { callRemote, calls, aborted }
}

const good = '{"redirect_uris":["http://127.0.0.1/cb"]}'

describe('the entry', () => {
  test.each([[[]], [['default/other/0']], [['']], [[KEY, KEY]], [[KEY, 'default/other/0']]])(
    'keys %j: refused',
    async (keys) => {
      const { server } = await serve([entry()])
      const stream = server.open(...keys)
      stream.send(request('GET', PRM))
      const { status: code, headers, details } = replyIn(await stream.next())
      expect([code, headers['retry-after']]).toEqual([503, '1'])
      expect(details).toBe('gatehouse_unknown-route')
      expect((await stream.end).code).toBe(status.UNAVAILABLE)
      expect(stream.responses).toHaveLength(1)
    },
  )

  test('is taken once, at the start', async () => {
    const other: WellKnownEntry = entry({ registration: { type: 'answer', clientId: 'new' } })
    const { server, setTable } = await serve([entry()])
    const stream = server.open(KEY)
    stream.send(request('POST', REGISTRATION))
    await stream.next()
    setTable([other])
    stream.send(body(good))
    expect(replyIn(await stream.next()).json).toHaveProperty('client_id', 'public-client')
    const later = server.open(KEY)
    later.send(request('POST', REGISTRATION))
    await later.next()
    later.send(body(good))
    expect(replyIn(await later.next()).json).toHaveProperty('client_id', 'new')
  })
})

describe('messages that cannot come', () => {
  const headers = { headers: headerMap({ ':status': '200' }) }
  const responseHeaders: Message = { request: { case: 'responseHeaders', value: headers } }
  const rows: [string, Message[]][] = [
    ['nothing', [{}]],
    ['response headers first', [responseHeaders]],
    ['response body first', [{ request: { case: 'responseBody', value: {} } }]],
    ['response trailers first', [{ request: { case: 'responseTrailers', value: {} } }]],
    ['request trailers first', [{ request: { case: 'requestTrailers', value: {} } }]],
    ['a body first', [body(good)]],
    ['headers twice', [request('POST', REGISTRATION), request('POST', REGISTRATION)]],
    ['another request', [request('POST', REGISTRATION), request('GET', PRM)]],
    [
      'trailers instead of a body',
      [request('POST', REGISTRATION), { request: { case: 'requestTrailers', value: {} } }],
    ],
    ['a response instead of a body', [request('POST', REGISTRATION), responseHeaders]],
    ['a second body', [request('POST', REGISTRATION), body(good), body(good)]],
    ['a response after the answer', [request('GET', PRM), responseHeaders]],
  ]
  test.each(rows)('%s: refused, then an error, never OK', async (_, messages) => {
    const { server, logs } = await serve([entry()])
    const stream = server.open(KEY)
    stream.send(...messages)
    expect((await stream.end).code).toBe(status.INTERNAL)
    const replies = stream.responses.filter(({ response }) => response.case === 'immediateResponse')
    // Where an answer has left, it is the only one.
    expect(replies).toHaveLength(1)
    const { status: code, details } = replyIn(replies[0] ?? never())
    if (code >= 400) expect([code, details]).toEqual([503, 'gatehouse_internal-error'])
    expect(JSON.stringify(logs)).not.toContain('redirect_uris')
  })

  test('headers without the ones that make a request: 400', async () => {
    const { server } = await serve([entry()])
    const empty: Message[] = [
      { request: { case: 'requestHeaders', value: {} } },
      { request: { case: 'requestHeaders', value: { headers: headerMap({ ':path': PRM }) } } },
      {
        request: {
          case: 'requestHeaders',
          value: {
            headers: {
              headers: [':method', ':authority', ':path', ':path'].map((key) => ({
                key,
                value: PRM,
              })),
            },
          },
        },
      },
    ]
    for (const message of empty) {
      const stream = server.open(KEY)
      stream.send(message)
      expect(replyIn(await stream.next()).status).toBe(400)
    }
  })

  test('an older Envoy’s header values are read too', async () => {
    const { server } = await serve([entry()])
    const stream = server.open(KEY)
    const headers = { ':method': 'GET', ':authority': 'gw.example', ':path': PRM }
    stream.send({
      request: {
        case: 'requestHeaders',
        value: {
          headers: { headers: Object.entries(headers).map(([key, value]) => ({ key, value })) },
        },
      },
    })
    expect(replyIn(await stream.next()).status).toBe(200)
  })
})

describe('the end of a stream', () => {
  test('that Envoy half-closes with its answer owed is an error', async () => {
    const { server } = await serve([entry()])
    for (const messages of [[], [request('POST', REGISTRATION)]]) {
      const stream = server.open(KEY)
      stream.send(...messages)
      stream.halfClose()
      expect((await stream.end).code).toBe(status.UNAVAILABLE)
      const last = stream.responses.at(-1)
      expect(last && replyIn(last).status).toBe(503)
    }
  })

  test('that Envoy half-closes after its answer is fine', async () => {
    const { server } = await serve([entry()])
    const stream = server.open(KEY)
    stream.send(request('GET', PRM))
    stream.halfClose()
    expect((await stream.end).code).toBe(status.OK)
    expect(replyIn(await stream.next()).status).toBe(200)
  })

  test('half-closed while the provider is asked: the answer still comes, before the end', async () => {
    const { server } = await serve([proxied()], () =>
      Promise.resolve({ ok: true, value: { status: 201, headers: {}, body: Buffer.from('{}') } }),
    )
    const stream = server.open(KEY)
    stream.send(request('POST', REGISTRATION), body(good))
    stream.halfClose()
    expect((await stream.end).code).toBe(status.OK)
    expect(stream.responses.map(({ response }) => response.case)).toEqual([
      'requestHeaders',
      'immediateResponse',
    ])
  })

  test('that Envoy cancels gives up the call to the provider', async () => {
    const { callRemote, calls, aborted } = hanging()
    const { server, logs } = await serve([proxied()], callRemote)
    const stream = server.open(KEY)
    stream.send(request('POST', REGISTRATION), body(good))
    await calls
    stream.cancel()
    await aborted
    expect((await stream.end).code).toBe(status.CANCELLED)
    expect(logs).toEqual([])
  })

  test('a processor that throws: an error, and a log line without data', async () => {
    const { server, logs } = await serve([proxied()])
    const stream = server.open(KEY)
    stream.send(request('POST', REGISTRATION), body(good))
    expect((await stream.end).code).toBe(status.INTERNAL)
    expect(logs).toEqual([
      {
        route: 'default/mcp',
        error: 'Error',
        leftOut: 0,
        message: 'ext_proc stream failed; the request was denied',
      },
    ])
    const again = server.open(KEY)
    again.send(request('POST', REGISTRATION), body(good))
    expect((await again.end).code).toBe(status.INTERNAL)
    expect(logs).toHaveLength(1)
  })
})

test('a registration beyond the limit of the provider is told to retry later', async () => {
  const ends: (() => void)[] = []
  const { server } = await serve([proxied()], (_target, { signal }) => {
    return new Promise((resolve) => {
      const answer = { status: 201, headers: {}, body: Buffer.from('{}') }
      ends.push(() => resolve({ ok: true, value: answer }))
      signal?.addEventListener('abort', () => resolve({ ok: false, error: { type: 'aborted' } }))
    })
  })
  const register = () => {
    const stream = server.open(KEY)
    stream.send(request('POST', REGISTRATION), body(good))
    return stream
  }
  const answerOf = async (stream: ReturnType<typeof register>) => {
    await stream.next()
    return replyIn(await stream.next())
  }
  const first = Array.from({ length: 64 }, register)
  await Promise.all(first.map((stream) => stream.next()))
  await eventually(() => expect(ends).toHaveLength(64))
  const busy = await answerOf(register())
  expect(busy).toMatchObject({ status: 503, json: { error: 'temporarily_unavailable' } })
  expect(busy.headers).toMatchObject({ 'retry-after': '5' })

  ends[0]?.()
  first[1]?.cancel()
  expect(replyIn((await first[0]?.next()) ?? never()).status).toBe(201)
  await first[1]?.end
  const again = register()
  await again.next()
  await eventually(() => expect(ends).toHaveLength(65))
  ends[64]?.()
  expect(replyIn(await again.next()).status).toBe(201)
})

function never(): never {
  throw new Error('there is nothing')
}

describe('drain', () => {
  test('without streams is over at once', async () => {
    const { service } = await serve([entry()])
    await service.drain?.(60_000)
  })

  test('waits for what is under way', async () => {
    const { server, service } = await serve([entry()])
    const stream = server.open(KEY)
    stream.send(request('POST', REGISTRATION))
    await stream.next()
    const drained = service.drain?.(60_000)
    stream.send(body(good))
    expect(replyIn(await stream.next()).status).toBe(201)
    stream.cancel()
    await drained
  })

  test('then ends what is left, never with OK', async () => {
    const { callRemote, calls, aborted } = hanging()
    const { server, service } = await serve([proxied()], callRemote)
    const stream = server.open(KEY)
    stream.send(request('POST', REGISTRATION), body(good))
    await calls
    await service.drain?.(1)
    await aborted
    expect((await stream.end).code).toBe(status.UNAVAILABLE)
  })
})

test('many streams at once each get their own answer', async () => {
  const { server } = await serve([entry()])
  const replies = await Promise.all(
    [...Array(200).keys()].map(async (index) => {
      const stream = server.open(KEY)
      stream.send(request('GET', index % 2 === 0 ? PRM : AS))
      const reply = replyIn(await stream.next())
      stream.cancel()
      return reply.json
    }),
  )
  for (const [index, json] of replies.entries())
    expect(json).toHaveProperty(index % 2 === 0 ? 'resource' : 'issuer')
})

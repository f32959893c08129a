// The processor for guarded MCP traffic: any chunking, limits, webhooks that hang or throw, streams that end early, and
// nothing sent after the end.

import { fromBinary } from '@bufbuild/protobuf'
import { describe, expect, test } from 'vitest'
import { createMcpGuardProcessor } from '../../../src/extproc/mcp/mcp-guard-processor.js'
import { createHeldBytes } from '../../../src/extproc/session/held-bytes.js'
import type { Processor } from '../../../src/extproc/session/processor.js'
import { compileWebhook } from '../../../src/extproc/webhook/compiled-guard.js'
import type { GuardDeps } from '../../../src/extproc/webhook/guard-deps.js'
import { OwnEnding } from '../../../src/kit/ending.js'
import type { WebhookPools } from '../../../src/kit/http/webhook-pools.js'
import { ok } from '../../../src/kit/result.js'
import { ProcessingResponseSchema } from '../../../src/wire/grpc/generated/envoy/service/ext_proc/v3/external_processor_pb.js'
import { countTurns } from '../../support/count-turns.js'
import { guardrails, webhook } from '../support/guards.js'
import { silent } from '../support/stream.js'

const FULL_DUPLEX = { requestBodyMode: 4, responseBodyMode: 4 }

interface Played {
  readonly processor: Processor
  /** Status of the answer to the client: that of an immediate response, or of the headers; 0: none was sent. */
  readonly status: () => number
  /** What the server received, and what the client received. */
  readonly sent: { request: string; response: string }
  /** Number of messages with parts of the body for the client. */
  readonly count: () => number
  /** How the reply for the client ended. */
  readonly ends: readonly ('body' | 'trailers')[]
  readonly end: () => void
}

/** Masks "secret" in what it is asked. */
const masking: WebhookPools['call'] = ({ body }) => {
  const question = (JSON.parse(Buffer.from(body).toString()) as { body: object }).body
  const masked = JSON.stringify({ action: { body: question } }).replaceAll('secret', '****')
  return Promise.resolve(ok({ status: 200, headers: new Map(), body: [Buffer.from(masked)] }))
}

function play(changes: Partial<GuardDeps> = {}, call: WebhookPools['call'] = masking): Played {
  const signal = new OwnEnding()
  const sent = { request: '', response: '' }
  let status = 0
  let count = 0
  const ends: ('body' | 'trailers')[] = []
  const send = (bytes: Uint8Array): void => {
    const { response } = fromBinary(ProcessingResponseSchema, bytes)
    if (response.case === 'immediateResponse') {
      status = response.value.status?.code ?? 0
      sent.response += Buffer.from(response.value.body).toString()
    }
    if (response.case === 'responseHeaders') {
      const set = response.value.response?.headerMutation?.setHeaders ?? []
      const own = set.find(({ header }) => header?.key === ':status')?.header?.rawValue
      status = own === undefined ? 200 : Number(Buffer.from(own).toString())
    }
    if (response.case === 'responseTrailers') ends.push('trailers')
    if (response.case !== 'responseBody' && response.case !== 'requestBody') return
    const { mutation } = response.value.response?.bodyMutation ?? {}
    if (mutation?.case !== 'streamedResponse') return
    const body = Buffer.from(mutation.value.body).toString()
    if (response.case === 'responseBody') count += 1
    if (response.case === 'responseBody' && mutation.value.endOfStream) ends.push('body')
    sent[response.case === 'requestBody' ? 'request' : 'response'] += body
  }
  const webhooks = [compileWebhook(webhook(1))]
  const processor = createMcpGuardProcessor(
    { type: 'mcp-guard', route: 'default/mcp', request: webhooks, response: webhooks },
    { send, signal },
    {
      ...guardrails({ call, close: () => Promise.resolve() }),
      now: () => 0,
      logger: silent,
      ...changes,
    },
  )
  const end = (): void => signal.abort()
  return { processor, status: () => status, sent, count: () => count, ends, end }
}

const part = (text: string, endOfStream = true): { body: Buffer; endOfStream: boolean } => ({
  body: Buffer.from(text),
  endOfStream,
})

async function requestHeaders(processor: Processor, method = 'POST'): Promise<void> {
  const headers = new Map([
    [':method', [method]],
    [':path', ['/mcp']],
    ['content-type', ['application/json']],
  ])
  await processor.requestHeaders(
    { headers, endOfStream: method === 'GET' },
    { config: FULL_DUPLEX },
  )
}

async function responseHeaders(processor: Processor, type: string): Promise<void> {
  const headers = new Map([
    [':status', ['200']],
    ['content-type', [type]],
  ])
  await processor.responseHeaders({ headers, endOfStream: false }, {})
}

const CALL = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{}}}'
const JSON_TYPE = 'application/json'
const EVENTS = 'text/event-stream'
const result = (text: string): string =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, result: { content: [{ type: 'text', text }] } })

/** A processor whose request has been sent on, and the headers of its reply. */
async function replying(
  type: string,
  changes: Partial<GuardDeps> = {},
  call: WebhookPools['call'] = masking,
): Promise<Played> {
  const played = play(changes, call)
  await requestHeaders(played.processor)
  await played.processor.requestBody(part(CALL))
  await responseHeaders(played.processor, type)
  return played
}

describe('an event stream', () => {
  test('keeps the ids of events, of which no webhook hears, and names the line of what it cannot read', async () => {
    const asked: string[] = []
    const { processor, sent } = await replying(EVENTS, {}, (call) => {
      asked.push(Buffer.from(call.body).toString())
      return masking(call)
    })
    const opening = 'id: 0/secret\nretry: 3000\ndata: \n\n'
    await processor.responseBody(part(`${opening}id: 1/1\ndata: ${result('a secret')}\n\n`, false))
    expect(sent.response).toBe(`${opening}id: 1/1\ndata: ${result('a ****')}\n\n`)
    expect(asked.filter((question) => question.includes('0/'))).toEqual([])
    sent.response = ''
    await processor.responseBody(part('data: {\n\n'))
    expect(sent.response).toContain('cannot read the reply: ')
    expect(sent.response).toContain('(line 8).')
  })

  test('of many comments passes in few messages, and others get their turns', async () => {
    const { processor, sent, count } = await replying(EVENTS)
    const comments = ':\n\n'.repeat(20_000)
    const { turns } = await countTurns(() => processor.responseBody(part(comments, false)))
    expect(turns).toBeGreaterThan(50)
    await processor.responseBody(part(`data: ${result('a secret')}\n\n${comments}`))
    expect(sent.response).toBe(`${comments}data: ${result('a ****')}\n\n${comments}`)
    expect(count()).toBeLessThan(10)
  })

  test('whose client leaves in any turn sends no more of its event, and asks no webhook about it', async () => {
    const whole = `data: ${result('secret '.repeat(250_000))}\n\n`
    const states = new Set<string>()
    for (let turns = 1; !states.has('whole'); turns += 2) {
      const asked: { isLeft: boolean }[] = []
      const { processor, sent, end } = await replying(
        EVENTS,
        { maxBodyBytes: 1 << 24 },
        async (call) => {
          if (call.phase === 'response') asked.push({ isLeft: call.signal.aborted })
          return masking(call)
        },
      )
      leavingAfter(turns, end)
      await processor.responseBody(part(whole))
      expect(asked).not.toContainEqual({ isLeft: true })
      const isWhole = sent.response.length > 0 && processor.isDone()
      states.add(isWhole ? 'whole' : asked.length > 0 ? 'left after the question' : 'left before')
      if (!isWhole) expect(sent.response.endsWith('\n\n')).toBe(false)
    }
    expect(states).toEqual(new Set(['left before', 'left after the question', 'whole']))
  })
})

/** Leaves after so many turns of the event loop. */
function leavingAfter(turns: number, leave: () => void): void {
  let left = turns
  const turn = (): void => {
    if (left === 0) return leave()
    left -= 1
    setImmediate(turn)
  }
  setImmediate(turn)
}

describe.each(['request', 'reply'] as const)('a whole %s', (what) => {
  test('whose client leaves in any turn is not sent on', async () => {
    const text = 'secret '.repeat(150_000)
    const states = new Set<string>()
    for (let turns = 1; !states.has('whole'); turns += 1) {
      const heldBytes = createHeldBytes(1 << 24)
      const asked: { isLeft: boolean }[] = []
      const changes = { heldBytes, maxBodyBytes: 1 << 22 }
      const call: WebhookPools['call'] = async (one) => {
        if (one.body.length > text.length) asked.push({ isLeft: one.signal.aborted })
        return masking(one)
      }
      const isRequest = what === 'request'
      const played = isRequest ? play(changes, call) : await replying(JSON_TYPE, changes, call)
      const { processor, sent, end } = played
      if (isRequest) await requestHeaders(processor)
      let sentByThen: string | undefined
      leavingAfter(turns, () => {
        end()
        sentByThen = sent[isRequest ? 'request' : 'response']
      })
      if (isRequest) await processor.requestBody(part(CALL.replace('{}', JSON.stringify({ text }))))
      else await processor.responseBody(part(result(text)))
      const body = isRequest ? sent.request : sent.response
      const isWhole = body.includes('****') && body.endsWith('}')
      if (!isWhole) expect(body === sentByThen).toBe(true)
      states.add(isWhole ? 'whole' : asked.length > 0 ? 'left after the question' : 'left before')
      expect(asked).not.toContainEqual({ isLeft: true })
      if (!isWhole) expect(heldBytes.held()).toBe(0)
    }
    expect(states).toEqual(new Set(['left before', 'left after the question', 'whole']))
  })
})

describe.each([JSON_TYPE, EVENTS])('a reply of %s', (type) => {
  const written = (text: string): string => (type === EVENTS ? `data: ${text}\r\n\r\n` : text)
  const WHOLE = written(result('a secret €'))

  test('is masked wherever it is cut', async () => {
    const bytes = Buffer.from(WHOLE)
    for (let at = 1; at < bytes.length; at += 1) {
      const { processor, sent } = await replying(type)
      await processor.responseBody({ body: bytes.subarray(0, at), endOfStream: false })
      await processor.responseBody({ body: bytes.subarray(at), endOfStream: true })
      expect([sent.response, processor.isDone()]).toEqual([written(result('a **** €')), true])
    }
  })

  test('with trailers', async () => {
    const { processor, sent } = await replying(type)
    await processor.responseBody(part(WHOLE, false))
    await processor.responseTrailers()
    expect([sent.response, processor.isDone()]).toEqual([written(result('a **** €')), true])
  })

  test('with trailers that cannot be read is an error in front of the trailers', async () => {
    const { processor, sent, ends } = await replying(type)
    await processor.responseBody(part(written('{"jsonrpc"').trimEnd(), false))
    await processor.responseTrailers()
    expect(sent.response).toContain('cannot read the reply')
    expect([ends, processor.isDone()]).toEqual([['trailers'], true])
  })

  test('is bounded', async () => {
    const { processor, sent } = await replying(type, { maxBodyBytes: 500 })
    await processor.responseBody(part(written(result('secret'.repeat(100))), false))
    expect(sent.response).not.toContain('secret')
    expect([JSON.parse(sent.response.replace('data: ', '')), processor.isDone()]).toMatchObject([
      { id: 1, error: { code: -32_603 } },
      true,
    ])
  })

  test('has room among all held bytes, or is an error; what was held is given back', async () => {
    const heldBytes = createHeldBytes(2000)
    const { processor, sent } = await replying(type, { heldBytes })
    await processor.responseBody(part(written(result('secret'.repeat(300))), false))
    await processor.responseBody(part(''))
    expect(sent.response).toContain(type === EVENTS ? 'as much as they may' : 'try again')
    expect([processor.isDone(), heldBytes.held()]).toEqual([true, 0])
  })

  test('is left while a webhook hangs: nothing is sent, and nothing is held', async () => {
    const heldBytes = createHeldBytes(1 << 20)
    let asked = (): void => {}
    const isAsked = new Promise<void>((resolve) => (asked = resolve))
    const hanging: WebhookPools['call'] = ({ signal }) =>
      new Promise((_resolve, reject) => {
        asked()
        signal?.addEventListener('abort', () => reject(new Error('left')))
      })
    const { processor, sent, end } = await replying(type, { heldBytes }, hanging)
    const work = Promise.resolve(processor.responseBody(part(WHOLE))).catch(() => 'ended')
    await isAsked
    expect(heldBytes.held()).toBeGreaterThan(0)
    end()
    await work
    expect([sent.response, heldBytes.held()]).toEqual(['', 0])
  })

  test('is an error of the stream when a part of it throws', async () => {
    const { processor, sent } = await replying(type, {}, () => {
      throw new Error('a bug')
    })
    await expect(async () => processor.responseBody(part(WHOLE))).rejects.toThrow('a bug')
    expect([sent.response, processor.isDone()]).toEqual(['', false])
  })
})

describe('a request', () => {
  const SECRET = CALL.replace('{}', '{"a":"secret €"}')

  test('is masked wherever it is cut', async () => {
    const bytes = Buffer.from(SECRET)
    for (let at = 1; at < bytes.length; at += 1) {
      const { processor, sent } = play()
      await requestHeaders(processor)
      await processor.requestBody({ body: bytes.subarray(0, at), endOfStream: false })
      await processor.requestBody({ body: bytes.subarray(at), endOfStream: true })
      expect(sent.request).toBe(SECRET.replace('secret', '****'))
    }
  })

  test.each<[string, string, number]>([
    ['not JSON', '{', 400],
    ['not a message', '{}', 400],
    ['a member twice', CALL.replace('"id":1', '"id":1,"id":2'), 400],
    ['a member in another case', CALL.replace('"params"', '"Params":{},"params"'), 400],
    ['too large', CALL.replace('{}', `{"a":"${'x'.repeat(1000)}"}`), 413],
  ])('that is %s does not reach the server', async (_what, body, status) => {
    const played = play({ maxBodyBytes: 1000 })
    await requestHeaders(played.processor)
    await played.processor.requestBody(part(body))
    expect([played.status(), played.sent.request, played.processor.isDone()]).toEqual([
      status,
      '',
      true,
    ])
    expect(JSON.parse(played.sent.response)).toMatchObject({ jsonrpc: '2.0', error: {} })
  })

  test('whose body does not come in time is 408', async () => {
    const { processor, status, sent } = play({ bodyTimeoutMs: 1 })
    await requestHeaders(processor)
    await processor.requestBody(part('{', false))
    await expect.poll(status).toBe(408)
    expect(sent.request).toBe('')
  })

  test('with a body that Envoy does not stream in full duplex ends the stream with an error', async () => {
    const { processor, sent } = play()
    const headers = new Map([[':method', ['POST']]])
    await expect(async () =>
      processor.requestHeaders({ headers, endOfStream: false }, {}),
    ).rejects.toThrow('full duplex')
    expect(sent.request).toBe('')
  })
})

describe('names of a batch that has many', () => {
  const calls = Array.from({ length: 40 }, (_, id) => ({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name: `tool${id}${'x'.repeat(1000)}` },
  }))
  const BATCH = JSON.stringify(calls)

  test('are among all held bytes while their answers are awaited', async () => {
    const heldBytes = createHeldBytes(1 << 20)
    const { processor, sent, end } = play({ heldBytes })
    await requestHeaders(processor)
    await processor.requestBody(part(BATCH))
    expect(sent.request).toBe(BATCH)
    await responseHeaders(processor, EVENTS)
    expect(heldBytes.held()).toBeGreaterThan(40 * 1000)
    end()
    expect(heldBytes.held()).toBe(0)
  })

  test('that do not fit in there are 503, and nothing of them stays', async () => {
    // The body itself has room.
    const heldBytes = createHeldBytes(3 * BATCH.length + 1000)
    const { processor, sent, status } = play({ heldBytes })
    await requestHeaders(processor)
    await processor.requestBody(part(BATCH))
    expect([status(), sent.request, heldBytes.held()]).toEqual([503, '', 0])
    expect(JSON.parse(sent.response)).toHaveLength(40)
  })
})

test('a stream of a GET is guarded without a request', async () => {
  const { processor, sent } = play()
  await requestHeaders(processor, 'GET')
  await responseHeaders(processor, EVENTS)
  await processor.responseBody(part(`data: ${result('secret')}\n\n`))
  expect(sent.response).toBe(`data: ${result('****')}\n\n`)
})

test('an answer that Gatehouse itself has given before is left as it is', async () => {
  const { processor, sent } = play()
  const headers = new Map([[':status', ['401']]])
  await processor.responseHeaders({ headers, endOfStream: false }, {})
  await processor.responseBody(part('secret'))
  expect([sent.response, processor.isDone()]).toEqual(['secret', true])
})

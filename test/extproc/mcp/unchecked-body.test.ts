// The processor that holds the body of an MCP message until it is whole: any chunking, its limits, and streams that end.

import { setImmediate as immediate } from 'node:timers/promises'
import { fromBinary } from '@bufbuild/protobuf'
import { describe, expect, test } from 'vitest'
import { createUncheckedBody } from '../../../src/extproc/mcp/unchecked-body.js'
import { createHeldBytes } from '../../../src/extproc/session/held-bytes.js'
import type { Processor } from '../../../src/extproc/session/processor.js'
import { OwnEnding } from '../../../src/kit/ending.js'
import { ProcessingResponseSchema } from '../../../src/wire/grpc/generated/envoy/service/ext_proc/v3/external_processor_pb.js'
import { eventually } from '../../../testing/eventually.js'

const MAX = 200_000
const LONG = 1_048_576
const FULL_DUPLEX = { requestBodyMode: 4, responseBodyMode: 0 }
const POST = new Map([
  [':method', ['POST']],
  [':path', ['/mcp?token=secret']],
  [':authority', ['gw.example']],
  ['x-request-id', ['id-1']],
])

type Deps = Parameters<typeof createUncheckedBody>[2]

interface Played {
  readonly processor: Processor
  /** What was sent: the kind of each message. */
  readonly kinds: string[]
  readonly status: () => number
  readonly body: () => string
  readonly lines: object[]
  readonly end: () => void
}

function play(changes: Partial<Deps> = {}, maxBodyBytes = MAX): Played {
  const signal = new OwnEnding()
  const kinds: string[] = []
  const lines: object[] = []
  let status = 0
  let body = ''
  const send = (bytes: Uint8Array): void => {
    const { response } = fromBinary(ProcessingResponseSchema, bytes)
    kinds.push(response.case ?? '')
    if (response.case === 'immediateResponse') status = response.value.status?.code ?? 0
    if (response.case !== 'requestBody') return
    const { mutation } = response.value.response?.bodyMutation ?? {}
    if (mutation?.case === 'streamedResponse') body += Buffer.from(mutation.value.body).toString()
  }
  const processor = createUncheckedBody(
    { maxBodyBytes },
    { send, signal },
    {
      heldBytes: createHeldBytes(1_000_000),
      bodyTimeoutMs: 60_000,
      onRefused: (refused) => void lines.push(refused),
      ...changes,
    },
  )
  return {
    processor,
    kinds,
    lines,
    status: () => status,
    body: () => body,
    end: () => signal.abort(),
  }
}

const begin = ({ processor }: Played, headers = POST, config = FULL_DUPLEX) =>
  processor.requestHeaders({ headers, endOfStream: false }, { config })

const part = (text: string, endOfStream = false) => ({ body: Buffer.from(text), endOfStream })

describe('a body', () => {
  test('goes on when it is whole, with its headers, in pieces that Envoy takes', async () => {
    const heldBytes = createHeldBytes(1_000_000)
    const played = play({ heldBytes })
    await begin(played)
    await played.processor.requestBody(part('a'.repeat(70_000)))
    await played.processor.requestBody(part('b'.repeat(70_000)))
    expect([played.kinds, heldBytes.held()]).toEqual([[], 140_000])
    expect(played.processor.isDone()).toBe(false)
    await played.processor.requestBody(part('c', true))
    expect(played.kinds).toEqual(['requestHeaders', ...Array<string>(5).fill('requestBody')])
    expect(played.body()).toBe('a'.repeat(70_000) + 'b'.repeat(70_000) + 'c')
    expect([played.processor.isDone(), heldBytes.held()]).toEqual([true, 0])
  })

  test('that ends with trailers keeps them', async () => {
    const played = play()
    await begin(played)
    await played.processor.requestBody(part('x'))
    await played.processor.requestTrailers()
    expect(played.kinds).toEqual(['requestHeaders', 'requestBody', 'requestTrailers'])
  })

  test('that is long takes turns with others, and ends when its client leaves', async () => {
    const heldBytes = createHeldBytes(10_000_000)
    const [first, second] = [play({ heldBytes }, LONG), play({ heldBytes }, LONG)]
    for (const played of [first, second]) {
      await begin(played)
      for (let index = 0; index < 15; index += 1)
        await played.processor.requestBody(part('x'.repeat(65_536)))
    }
    const sent = [first, second].map(async ({ processor }) => processor.requestBody(part('', true)))
    const isShort = ({ body }: Played): boolean => body().length < 8 * 65_536
    expect([first, second].map(isShort)).toEqual([true, true])
    while (second.kinds.length === 0) await immediate()
    second.end()
    await Promise.all(sent)
    expect(first.body()).toHaveLength(15 * 65_536)
    expect(second.kinds.length).toBeLessThan(15)
    expect(heldBytes.held()).toBe(0)
  })

  test('that there is not: the headers go on at once', async () => {
    const played = play()
    await played.processor.requestHeaders({ headers: POST, endOfStream: true }, {})
    expect([played.kinds, played.processor.isDone()]).toEqual([['requestHeaders'], true])
  })
})

describe('is refused, gives back what it held, and is told', () => {
  const declared = new Map([...POST, ['content-length', [String(MAX + 1)]]])
  test.each<[string, number, Partial<Deps>, Map<string, string[]>, string]>([
    ['body-timeout', 408, { bodyTimeoutMs: 1 }, POST, 'x'],
    ['body-too-large', 413, {}, POST, 'x'.repeat(MAX + 1)],
    ['body-too-large', 413, {}, declared, ''],
    ['too-many-bodies', 503, { heldBytes: createHeldBytes(10) }, POST, 'x'.repeat(11)],
  ])('%s', async (reason, status, changes, headers, content) => {
    const heldBytes = changes.heldBytes ?? createHeldBytes(1_000_000)
    const played = play({ ...changes, heldBytes })
    await begin(played, headers)
    if (content !== '') await played.processor.requestBody(part(content))
    await eventually(() => expect(played.kinds).toEqual(['immediateResponse']))
    // What is on its way is dropped.
    await played.processor.requestBody(part('more', true))
    expect(played.kinds).toHaveLength(1)
    expect([played.status(), heldBytes.held(), played.processor.isDone()]).toEqual([
      status,
      0,
      true,
    ])
    expect(played.lines).toEqual([{ reason, status, headers }])
  })
})

test('a client that leaves: what it held is given back, and nothing is sent', async () => {
  const heldBytes = createHeldBytes(1_000_000)
  const played = play({ heldBytes })
  await begin(played)
  await played.processor.requestBody(part('x'))
  played.end()
  expect([heldBytes.held(), played.kinds]).toEqual([0, []])
})

test('it needs no room beside its bytes', async () => {
  const played = play({ heldBytes: createHeldBytes(100) })
  await begin(played)
  await played.processor.requestBody(part('x'.repeat(100), true))
  expect([played.status(), played.body()]).toEqual([0, 'x'.repeat(100)])
})

test('any other mode or order is refused by an error', () => {
  expect(() => begin(play(), POST, { requestBodyMode: 1, responseBodyMode: 0 })).toThrow(
    'not in full duplex',
  )
  expect(() => play().processor.requestBody(part('x'))).toThrow('body when start')
  expect(() => play().processor.responseHeaders({ headers: POST, endOfStream: true }, {})).toThrow()
})

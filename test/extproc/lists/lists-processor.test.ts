// The processor for an MCP server's lists: holds them within limits, handles any chunking, and sends nothing after the
// end.

import { describe, expect, test } from 'vitest'
import type { AskedLists } from '../../../src/extauthz/mcp/lists.js'
import { createHeldBytes } from '../../../src/extproc/session/held-bytes.js'
import { UnexpectedMessage } from '../../../src/extproc/session/processor.js'
import { ProcessingMode_BodySendMode as BodySendMode } from '../../../src/wire/grpc/generated/envoy/extensions/filters/http/ext_proc/v3/processing_mode_pb.js'
import { countTurns } from '../../support/count-turns.js'
import {
  ASKED,
  EVENTS,
  FULL_DUPLEX,
  JSON_TYPE,
  list,
  part,
  play,
  POLICY,
  TRACE,
} from './support.js'

describe.each([JSON_TYPE, EVENTS])('%s', (type) => {
  const written = (text: string): string => (type === EVENTS ? `data: ${text}\r\n\r\n` : text)
  const LARGE = written(list(...Array.from({ length: 20_000 }, (_, index) => `t${String(index)}`)))

  test('cut anywhere', async () => {
    const whole = written(list('a', 'rm', 'b'))
    for (let at = 1; at < whole.length; at += 1) {
      const { processor, body } = play(type)
      await processor.responseBody(part(whole.slice(0, at), false))
      await processor.responseBody(part(whole.slice(at), true))
      expect([body(), processor.isDone()]).toEqual([written(list('a', 'b')), true])
    }
  })

  test('with trailers', async () => {
    const { processor, body } = play(type)
    await processor.responseBody(part(written(list('rm', 'a')), false))
    await processor.responseTrailers()
    expect([body(), processor.isDone()]).toEqual([written(list('a')), true])
  })

  test('that cannot be read, with trailers, is an error in front of the trailers', async () => {
    const { processor, body, ends } = play(type)
    await processor.responseBody(
      part(type === EVENTS ? `${written(list('a'))}data: x` : 'x', false),
    )
    await processor.responseTrailers()
    expect(body()).toContain('could not be read')
    expect([ends, processor.isDone()]).toEqual([['trailers'], true])
  })

  test('ends while it is read: nothing is sent any more', async () => {
    const { processor, status, body, end } = play(type)
    const work = processor.responseBody(part(LARGE, true))
    end()
    await work
    expect([status(), body()]).toEqual([0, ''])
  })

  test('is bounded', async () => {
    const { processor, status } = play(type, { deps: { maxBodyBytes: 1000 } })
    await processor.responseBody(part(LARGE.slice(0, 2000), false))
    await processor.responseBody(part(LARGE.slice(2000), true))
    expect([status(), processor.isDone()]).toEqual([502, true])
  })

  test('has room among all held bytes, or is 502; what was held is given back', async () => {
    const heldBytes = createHeldBytes(2000)
    const { processor, status } = play(type, { deps: { heldBytes } })
    await processor.responseBody(part(LARGE.slice(0, 1000), false))
    expect([status(), processor.isDone(), heldBytes.held()]).toEqual([502, true, 0])
  })

  test('a cancelled one gives back what it held', async () => {
    const heldBytes = createHeldBytes(1 << 23)
    const { processor, end } = play(type, { deps: { heldBytes } })
    await processor.responseBody(part(LARGE.slice(0, 1000), false))
    expect(heldBytes.held()).toBeGreaterThan(0)
    end()
    expect(heldBytes.held()).toBe(0)
  })
})

test('an event that is cut off at the end of its stream is not held once it has left', async () => {
  const heldBytes = createHeldBytes(1 << 23)
  const { processor, body } = play(EVENTS, { deps: { heldBytes } })
  await processor.responseBody(part(`data: ${list('a')}`, false))
  expect(heldBytes.held()).toBeGreaterThan(0)
  await processor.responseBody(part('', true))
  expect([body(), heldBytes.held()]).toEqual([`data: ${list('a')}`, 0])
})

describe('what a caller does not get has one line in the decision log', () => {
  const expected = {
    message: 'list refusal',
    decision: 'deny',
    reason: 'unreadable_list',
    route: 'default/mcp',
    ...POLICY,
    requestId: 'id-1',
    traceId: TRACE,
    method: 'POST',
    host: 'gw.example',
    path: '/mcp',
    leftOut: 0,
  }

  test.each([
    ['another type', 'text/plain', '', 'it is neither JSON nor an event stream'],
    ['text that is no JSON', JSON_TYPE, '{"tools":opaque-credential', undefined],
    ['bytes that are no text', JSON_TYPE, Buffer.of(0x7b, 0xff, 0xfe), 'it is not UTF-8'],
    ['an event that is no JSON', EVENTS, 'data: x\n\n', 'an event cannot be read'],
    ['too much', JSON_TYPE, '['.repeat(2 << 20), 'it is larger than may be held'],
  ])('%s', async (_what, type, text, problem) => {
    const { processor, status, lineOf } = play(type)
    await processor.responseBody({ body: Buffer.from(text), endOfStream: true })
    expect(status()).toBe(502)
    expect(lineOf()).toMatchObject({ ...expected, status: 502, ...(problem && { problem }) })
    expect(JSON.stringify(lineOf())).not.toContain('opaque')
  })

  test('an event after others, whose status has been sent', async () => {
    const { processor, status, lineOf } = play(EVENTS)
    await processor.responseBody(part(`data: ${list('a')}\n\ndata: x\n\n`, true))
    expect(status()).toBe(200)
    expect(lineOf()).toMatchObject(expected)
    expect(lineOf()).not.toHaveProperty('status')
  })
})

describe('rules', () => {
  const shown = async (deny: readonly string[]): Promise<string> => {
    const { processor, body } = play(JSON_TYPE, { deny })
    await processor.responseBody(part(list('a', 'rm'), true))
    return body()
  }

  test('that read arguments keep the tool', async () => {
    expect(await shown(['mcp.tool.name == "rm" && mcp.tool.arguments.x == 1'])).toBe(
      list('a', 'rm'),
    )
  })

  test('that fail, or cost too much, hide it', async () => {
    expect(await shown(['mcp.tool.name == "rm" && jwt.sub == "x"'])).toBe(list('a'))
    const many = `[${Array.from({ length: 60 }, () => '1').join()}]`
    const loop = `${many}.all(a, ${many}.all(b, ${many}.all(c, a + b + c > size(mcp.tool.name))))`
    expect(await shown([`mcp.tool.name == "rm" && ${loop}`])).toBe(list('a'))
  })
})

describe('rules that read the version', () => {
  const NEWER = 'mcp.tool.name == "rm" && mcp.protocolVersion == "2026-07-28"'
  const OLDER = 'mcp.tool.name == "rm" && mcp.protocolVersion != "2026-07-28"'
  const of = (...versions: readonly string[]): AskedLists =>
    versions.map((protocolVersion) => ({ id: '1', method: 'tools/list', protocolVersion }))

  test.each<[string, AskedLists, string, readonly string[]]>([
    ['a version that may use the tool', of('2026-07-28'), OLDER, ['a', 'rm']],
    ['a version that may not', of('2026-07-28'), NEWER, ['a']],
    ['no version, which may', ASKED, NEWER, ['a', 'rm']],
    ['no version, which may not', ASKED, OLDER, ['a']],
    ['two requests with one id, one of which may not', of('', '2026-07-28'), NEWER, ['a']],
  ])('%s', async (_what, asked, deny, names) => {
    const { processor, body } = play(JSON_TYPE, { deny: [deny], asked })
    await processor.responseBody(part(list('a', 'rm'), true))
    expect(body()).toBe(list(...names))
  })
})

test('many comments pass in few messages, and others get their turns', async () => {
  const { processor, body, count } = play(EVENTS)
  const comments = ':\n\n'.repeat(20_000)
  const { turns } = await countTurns(() => processor.responseBody(part(comments, false)))
  expect(turns).toBeGreaterThan(50)
  await processor.responseBody(part(`data: ${list('a', 'rm')}\n\n${comments}`, true))
  expect(body()).toBe(`${comments}data: ${list('a')}\n\n${comments}`)
  expect(count()).toBeLessThan(10)
})

test.each(['NONE', 'STREAMED', 'BUFFERED', 'BUFFERED_PARTIAL', 'GRPC'] as const)(
  'the request of a list whose reply would come as %s is refused',
  (mode) => {
    const config = { ...FULL_DUPLEX, responseBodyMode: BodySendMode[mode] }
    expect(() => play(JSON_TYPE, { config })).toThrow(UnexpectedMessage)
  },
)

test('a byte order mark hides nothing', async () => {
  const { processor, body } = play(EVENTS)
  await processor.responseBody(part(`\ufeffdata: ${list('rm', 'a')}\n\n`, true))
  expect(body()).toBe(`data: ${list('a')}\n\n`)
})

test('an event that the end cuts off is filtered too', async () => {
  const { processor, body } = play(EVENTS)
  await processor.responseBody(part(`data: ${list('rm', 'a')}\n`, true))
  expect(body()).toBe(`data: ${list('a')}\n`)
})

// Lists in replies that do not say what they are: filtered as what they are, else 502 or the end of the stream, to a POST
// and to a GET alike. None passes unread.

import { describe, expect, test } from 'vitest'
import { beginningForm } from '../../../src/extproc/lists/beginning.js'
import { ASKED, EVENTS, JSON_TYPE, list, part, type Play, play, type Played } from './support.js'

const GET = 'all'
const hidden = list('a', 'rm')
const shown = list('a')
const event = (data: string, name = ''): string =>
  `${name === '' ? '' : `event: ${name}\n`}data: ${data}\n\n`

/** Plays it in one piece, and byte by byte. */
async function played(type: string, text: string, options: Play): Promise<Played> {
  const whole = play(type, options)
  await whole.processor.responseBody(part(text, true))
  const cut = play(type, options)
  for (const byte of Buffer.from(text))
    await cut.processor.responseBody({ body: Buffer.of(byte), endOfStream: false })
  await cut.processor.responseTrailers()
  expect([cut.status(), cut.body(), cut.processor.isDone()]).toEqual([
    whole.status(),
    whole.body(),
    whole.processor.isDone(),
  ])
  expect(cut.ends).toHaveLength(1)
  return whole
}

describe.each([
  ['a POST', ASKED],
  ['a GET', GET],
] as const)('%s', (_what, asked) => {
  test.each([
    ['events as text', 'text/plain', event(hidden), event(shown)],
    ['events as JSON', JSON_TYPE, event(hidden), event(shown)],
    ['events of no type', '', `: hi\n\n${event(hidden)}`, `: hi\n\n${event(shown)}`],
    ['events of a type with a prefix', 'text/event-stream2', event(hidden), event(shown)],
    ['events after line ends', 'text/html', `\r\n\n${event(hidden)}`, `\r\n\n${event(shown)}`],
    ['JSON as text', 'text/plain', hidden, shown],
    ['JSON of another type', 'application/jsonrpc+json', ` \n${hidden}`, ` \n${shown}`],
    ['an event of another name', EVENTS, event(hidden, 'other'), event(shown, 'other')],
    ['an event of another name of another type', '', event(hidden, 'x'), event(shown, 'x')],
  ])('%s: filtered', async (_name, type, text, filtered) => {
    const { status, body } = await played(type, text, { asked })
    expect([status(), body()]).toEqual([200, filtered])
  })

  test.each([
    ['a page', 'text/html', '<p>hi</p>', {}],
    ['words', EVENTS.toUpperCase(), 'words, not an event', {}],
    ['words that begin like an event', 'text/plain', 'data is here', {}],
    ['an event behind a blank', 'text/plain', ` ${event(hidden)}`, {}],
    ['lines of JSON', 'application/jsonl', `${hidden}\n${hidden}\n`, {}],
    ['nothing', 'text/plain', '', {}],
    ['an encoding', EVENTS, event(hidden), { 'content-encoding': 'gzip' }],
    ['an encoding of JSON', JSON_TYPE, hidden, { 'content-encoding': 'br' }],
    ['an encoding of another type', 'text/plain', hidden, { 'content-encoding': 'zstd' }],
  ])('%s: 502', async (_name, type, text, headers) => {
    // An event stream that is declared to a GET has sent its headers.
    if (asked === GET && /^text\/event-stream$/i.test(type) && Object.keys(headers).length === 0)
      return
    const { status, body } = await played(type, text, { asked, headers })
    expect([status(), JSON.parse(body())]).toMatchObject([502, { error: { code: -32_603 } }])
  })

  test('an address, or a time, in an event of another name passes', async () => {
    const text = event('/messages?id=1', 'endpoint') + event('2026-01-02', 'ping') + event(hidden)
    const { body } = await played(EVENTS, text, { asked })
    expect(body()).toBe(text.replace(hidden, shown))
  })

  test('JSON in an event of another name that cannot be read ends the stream', async () => {
    const text = event(shown) + event('{"tools":[', 'other')
    const { status, body } = await played(EVENTS, text, { asked })
    expect([status(), body().startsWith(event(shown)), body().includes('-32603')]).toEqual([
      200,
      true,
      true,
    ])
  })
})

test('JSON that is declared as a stream is filtered for a POST, and ends the stream of a GET', async () => {
  const post = await played(EVENTS, hidden, { asked: ASKED })
  expect([post.status(), post.body()]).toEqual([200, shown])
  const get = await played(EVENTS, hidden, { asked: GET })
  expect([get.status(), get.body()]).toEqual([200, expect.stringContaining('-32603')])
  expect(get.body()).not.toContain('rm')
})

test('the headers of a GET that declares a stream leave at once', () => {
  expect(play(EVENTS, { asked: GET }).status()).toBe(200)
  expect(play(EVENTS, { asked: ASKED }).status()).toBe(0)
  expect(play('text/plain', { asked: GET }).status()).toBe(0)
})

describe('a 202', () => {
  test('to a POST is no answer, and to a GET is one', async () => {
    const headers = { ':status': '202' }
    const post = await played(JSON_TYPE, hidden, { asked: ASKED, headers })
    expect(post.body()).toBe(hidden)
    const get = await played(EVENTS, event(hidden), { asked: GET, headers })
    expect(get.body()).toBe(event(shown))
  })
})

test.each([
  ['', false, undefined],
  ['', true, 'neither'],
  ['\n \t\r', false, undefined],
  ['\n'.repeat(5000), false, 'neither'],
  ['dat', false, undefined],
  ['dat', true, 'neither'],
  ['data', false, undefined],
  ['data', true, 'events'],
  ['data:', true, 'events'],
  ['data\n', true, 'events'],
  ['datas:', true, 'neither'],
  ['event:', false, 'events'],
  ['id\n\n\n\n', false, 'events'],
  ['retry:', false, 'events'],
  [':', false, 'events'],
  ['\ufeffdata: ', false, 'events'],
  ['\ufeff{', false, 'json'],
  ['[', false, 'json'],
  ['"text"', false, 'neither'],
  ['<html>', false, 'neither'],
] as const)('a body that begins with %j (whole: %j) is %s', (text, isWhole, form) => {
  expect(beginningForm(Buffer.from(text), isWhole)).toBe(form)
})

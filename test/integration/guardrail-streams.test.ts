// Streamed replies through the whole product, with the official client: checked as they arrive, masked, and ended
// (decision 20).

import { setTimeout as wait } from 'node:timers/promises'
import OpenAI, { APIError } from 'openai'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { freePort } from '../../testing/ports.js'
import {
  answerJson,
  asked,
  chat,
  guardedRoute,
  type GuardedStack,
  hook,
  type Reply,
  service,
  startGuardedStack,
  type Wire,
} from '../support/guardrails.js'
import { delta, nextReply } from '../support/streaming-llm.js'

let stack: GuardedStack

beforeAll(async () => {
  stack = await startGuardedStack([
    ...service('nobody', await freePort()),
    ...guardedRoute('/tools', { response: [hook('guard', { inspectToolCalls: true })] }),
    ...guardedRoute('/away', { response: [hook('nobody')] }),
    ...guardedRoute('/words', { response: [hook('guard', { holdBack: 20, minInterval: '10ms' })] }),
    ...guardedRoute('/async', { response: [hook('guard', { mode: 'Async' })] }),
    ...guardedRoute('/open', { response: [hook('nobody', { failureMode: 'FailOpen' })] }),
  ])
})
afterAll(() => stack.close())
beforeEach(() => stack.reset())

const ask = (path: string, more: object = {}) =>
  new OpenAI({
    baseURL: `${stack.origin}${path}/v1`,
    apiKey: 'k',
    maxRetries: 0,
  }).chat.completions.create({
    model: 'm',
    messages: [{ role: 'user', content: 'hi' }],
    stream: true,
    ...more,
  })

type Stream = Awaited<ReturnType<typeof ask>>

/** The text of each choice so far. */
async function read(stream: Stream, texts: string[] = []): Promise<readonly string[]> {
  for await (const { choices } of stream)
    for (const { index, delta: change } of choices)
      texts[index] = (texts[index] ?? '') + (change.content ?? '')
  return texts
}
/** The pieces of its first choice as they arrive. */
async function* pieces(stream: Stream): AsyncGenerator<string> {
  for await (const { choices } of stream) yield choices[0]?.delta.content ?? ''
}

const windows = (): readonly string[] =>
  asked(stack.webhook).flatMap(({ choices }) => choices?.[0]?.message.content ?? [])
const LINES = Array.from({ length: 400 }, (_, at) => `line ${at} of a long reply\n`).join('')

test('text comes while the model speaks, each masked word whole, and the webhook saw windows', async () => {
  const reply = nextReply(stack.llm)
  const stream = pieces(await ask('/both'))
  const llm = await reply
  const text = `${LINES}a secret in many pieces, ${LINES} and a secret`
  llm.say(text.slice(0, 6000), { size: 1 })
  let said = ''
  // The model has not ended: this text left before its end.
  while (said.length < 4000) said += (await stream.next()).value as string
  llm.say(text.slice(6000), { size: 3 })
  llm.finish()
  llm.end()
  for await (const piece of stream) said += piece
  expect(said).toBe(text.replaceAll('secret', '****'))
  // At least one window before the rest arrived and one after it; the number depends on their speed.
  expect(windows().length).toBeGreaterThan(1)
})

test('a short text is sent after a while, although the model sends nothing more', async () => {
  const reply = nextReply(stack.llm)
  const stream = pieces(await ask('/both'))
  const llm = await reply
  llm.say('word '.repeat(100))
  expect((await stream.next()).value).toContain('word')
  llm.finish()
  llm.end()
  let rest = ''
  for await (const piece of stream) rest += piece
  expect(rest).toContain('word')
})

/** Masks every address, and every text that begins with "nothing" whole. */
const maskAddresses: Reply = ({ body }, response) => {
  const { choices = [] } = (JSON.parse(body) as { body: Wire }).body
  const masked = choices.map(({ message: { role, content } }) => ({
    message: {
      role,
      content: content.startsWith('nothing') ? 'XXX' : content.replace(/\S+@\S+/g, '[email]'),
    },
  }))
  answerJson({ action: { body: { choices: masked } } })(undefined, response)
}

test.each([
  ['a blank', ' '],
  ['a line end', '\n'],
  ['a comma', ', '],
])(
  'a stream of nothing but masks with %s between them leaves as it comes',
  async (_name, between) => {
    stack.webhook.answer(maskAddresses)
    const reply = nextReply(stack.llm)
    const stream = pieces(await ask('/words'))
    const llm = await reply
    const item = (at: number): string => `user${at}@example.com${between}`
    let [said, count] = ['', 0]
    // The model continues until the client has received some of it, and after 1,000 items it waits for that.
    for (const next = stream.next(); said === '';) {
      const isEnough = count === 1000
      if (!isEnough) llm.say(Array.from({ length: 20 }, (_, at) => item(count + at)).join(''))
      if (!isEnough) count += 20
      const piece = await (isEnough ? next : Promise.race([next, wait(20)]))
      if (piece !== undefined) said = piece.value as string
    }
    llm.say('the end')
    llm.finish()
    llm.end()
    for await (const piece of stream) said += piece
    expect(said).toBe(
      `${`[email]${between}`.repeat(count)}the end`.replaceAll('[email],', '[email]'),
    )
    expect(Math.max(...windows().map(({ length }) => length))).toBeLessThan(25_000)
  },
)

test('a text of which nothing is left as it was ends its stream with an error, long before the model ends', async () => {
  stack.webhook.answer(maskAddresses)
  const reply = nextReply(stack.llm)
  const texts: string[] = []
  const error = ask('/words')
    .then((stream) => read(stream, texts))
    .catch((raised: unknown) => raised)
  const llm = await reply
  llm.say(`nothing ${'of this is left '.repeat(5000)}`, { size: 160 })
  expect(await error).toMatchObject({ code: 'guardrail_unreadable' })
  expect(texts.join('')).toBe('')
  await llm.closed
})

test('a policy sets how much is held back', async () => {
  const reply = nextReply(stack.llm)
  const stream = pieces(await ask('/words'))
  const llm = await reply
  llm.say('word '.repeat(8), { size: 5 })
  // 40 characters of a model that has not ended: all but the last 19 leave.
  let said = ''
  while (said.length < 20) said += (await stream.next()).value as string
  expect(said).toBe('word '.repeat(4))
  llm.say('secret ', { size: 1 })
  llm.finish()
  llm.end()
  for await (const piece of stream) said += piece
  expect(said).toBe(`${'word '.repeat(8)}**** `)
})

test('mode Async: text passes at once, and a reject ends the stream', async () => {
  const reply = nextReply(stack.llm)
  const texts: string[] = []
  const error = ask('/async')
    .then((stream) => read(stream, texts))
    .catch((raised: unknown) => raised)
  const llm = await reply
  llm.say('hello')
  await eventually(() => expect(texts[0]).toBe('hello'))
  expect(windows()).toEqual([])
  llm.say(' and now I block')
  llm.finish()
  llm.end()
  expect(await error).toMatchObject({ code: 'content_filter', message: 'request blocked' })
  expect(texts[0]).toBe('hello and now I block')
})

test('what no webhook changes passes byte for byte', async () => {
  const body = [
    ': ping\r\n\r\n',
    'event: x\ndata: {"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}\n\n',
    'data:{ "choices" : [{"delta":{"content":"h\\u0069 \\ud83d"}}] }\n\n',
    'data:{ "choices" : [{"delta":{"content":"\\ude00"}}],\ndata: "x": 1.0}\n\n',
    'data: {"choices":[],"usage":{"total_tokens":3}}\n\ndata: [DONE]\n\n',
  ].join('')
  const reply = nextReply(stack.llm, { 'content-length': String(body.length), etag: '"1"' })
  const answer = stack.post('/both', chat('x', { stream: true }))
  ;(await reply).response.end(body)
  const { status, headers, body: got } = await answer
  expect({ status, body: got }).toEqual({ status: 200, body })
  expect(headers).not.toHaveProperty('etag')
  expect(windows()).toEqual(['hi \u{1f600}'])
})

test.each(['/both', '/words'])('every choice is a text of its own: %s', async (path) => {
  const reply = nextReply(stack.llm)
  const texts = ask(path, { n: 2 }).then((stream) => read(stream))
  const llm = await reply
  for (let at = 0; at < 6; at += 1) {
    llm.event(delta({ content: 'secret'.charAt(at) }, 0))
    llm.event(delta({ content: 'wholly'.charAt(at) }, 1))
  }
  llm.end()
  expect(await texts).toEqual(['****', 'wholly'])
})

test('of one choice, pieces under other indexes are one text, also where only replies are guarded', async () => {
  const reply = nextReply(stack.llm)
  const stream = await ask('/words')
  const llm = await reply
  for (const [at, piece] of ['a se', 'cr', 'et wor', 'd'].entries())
    llm.event(delta({ content: piece }, at % 2))
  llm.end()
  expect((await read(stream)).join('')).not.toMatch(/cr|et/)
  expect(windows().join()).toContain('a secret word')
})

test('a reject ends the stream with an error that the client raises, and the model is left', async () => {
  const reply = nextReply(stack.llm)
  const texts: string[] = []
  const error = ask('/both')
    .then((stream) => read(stream, texts))
    .catch((raised: unknown) => raised)
  const llm = await reply
  llm.say(LINES)
  await eventually(() => expect(texts[0]).toContain('line 1'))
  llm.say(`now I block${LINES}`)
  const raised = await error
  expect(raised).toBeInstanceOf(APIError)
  expect(raised).toMatchObject({ code: 'content_filter', message: 'request blocked' })
  expect(texts[0]).not.toContain('block')
  await llm.closed
})

test.each([
  ['/away', true],
  ['/open', false],
])('a webhook that is away (%s) ends the stream, or lets it go on', async (path, isClosed) => {
  const reply = nextReply(stack.llm)
  const texts = ask(path)
    .then((stream) => read(stream))
    .catch((raised: unknown) => raised)
  const llm = await reply
  llm.say('a secret')
  llm.finish()
  llm.end()
  if (isClosed) expect(await texts).toMatchObject({ code: 'guardrail_unavailable' })
  else expect(await texts).toEqual(['a secret'])
})

const CALL = { index: 0, id: 't1', type: 'function', function: { name: 'f', arguments: '' } }
const callPiece = (text: string) =>
  delta({ tool_calls: [{ index: 0, function: { arguments: text } }] })

test('tool calls pass in their place; where they are inspected, as one whole', async () => {
  for (const [path, word] of [
    ['/both', 'secret'],
    ['/tools', '****'],
  ] as const) {
    const reply = nextReply(stack.llm)
    const events = ask(path).then(async (stream) => {
      const all = []
      for await (const { choices } of stream) all.push(choices[0]?.delta)
      return all
    })
    const llm = await reply
    llm.event(delta({ role: 'assistant', content: 'I call ' }))
    llm.event(delta({ tool_calls: [CALL] }))
    for (const piece of ['{"a":"se', 'cr', 'et"}']) llm.event(callPiece(piece))
    llm.finish('tool_calls')
    llm.end()
    const [first, ...rest] = await events
    expect(first).toEqual({ role: 'assistant', content: 'I call ' })
    const args = rest.map((change) => change?.tool_calls?.[0]?.function?.arguments ?? '')
    expect(args.join('')).toBe(`{"a":"${word}"}`)
  }
})

test.each([
  ['no JSON', 'data: a secret\n\n'],
  ['of two forms', 'data: {"choices":[],"candidates":[],"words":"a secret"}\n\n'],
  ['no event', 'a secret\n\n'],
  ['of half a character', Buffer.from([...Buffer.from('data: '), 0xf0, 0x9f, 10, 10])],
])('an event that is %s ends the stream', async (_name, bytes) => {
  const reply = nextReply(stack.llm)
  const answer = stack.post('/both', chat('x', { stream: true }))
  ;(await reply).response.end(bytes)
  const { status, body } = await answer
  expect(status).toBe(200)
  expect(body).toContain('"guardrail_unreadable"')
  expect(body).not.toContain('secret')
})

test('an error of the model passes, and so does its status', async () => {
  stack.llm.answer(answerJson({ error: { message: 'too many' } }, 429))
  const raised = await ask('/both').catch((error: unknown) => error)
  expect(raised).toMatchObject({ status: 429 })
})

// config/guardrail-webhook/webhook.ts as a program: what it accepts, what it rejects, and that no input crashes it.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort } from '../../testing/ports.js'
import { sendUntilAnswered } from '../support/raw-http.js'
import { SAMPLE_WEBHOOK, type SampleWebhook, startNodeWebhook } from '../support/sample-webhook.js'

const MIB = 1024 * 1024

let webhook: SampleWebhook

beforeAll(async () => {
  webhook = await startNodeWebhook()
})
afterAll(() => webhook.close())

async function post(body: string, path = '/request', to = webhook): Promise<unknown[]> {
  const answer = await fetch(to.origin + path, { method: 'POST', body })
  return [answer.status, await answer.json()]
}

const prompt = (...contents: readonly string[]): string =>
  JSON.stringify({ body: { messages: contents.map((content) => ({ role: 'user', content })) } })

/** A question about a message of several texts. */
const parts = (...contents: readonly string[]): string =>
  JSON.stringify({
    body: {
      messages: contents.map((content, index) => ({
        role: 'user',
        content,
        message: 0,
        part: { index, of: contents.length },
      })),
    },
  })

const allowed = [200, { action: {} }]
const blocked = {
  action: { body: 'Blocked: there is a word that may not pass.', status_code: 403 },
}

test.each([
  '',
  '[]',
  'null',
  '{"body":{}}',
  '{"body":{"messages":{}}}',
  '{"body":{"messages":[null]}}',
  '{"body":{"messages":[{"role":"user","content":null}]}}',
  '{"body":{"choices":[]}}',
])('400 for what is no question: %s', async (body) => {
  expect((await post(body))[0]).toBe(400)
})

test('the texts of one message are judged joined as well', async () => {
  expect(await post(parts('a sword', 'fish'))).toEqual([200, blocked])
  expect(await post(prompt('a sword', 'fish'))).toEqual(allowed)
  expect(await post(parts('mail bob@exam', 'ple.com'))).toEqual([
    200,
    { action: { body: 'Blocked: an address is in two parts.', status_code: 403 } },
  ])
  expect(await post(parts('mail bob@example.com', 'and wait'))).toEqual([
    200,
    {
      action: {
        body: {
          messages: [
            { role: 'user', content: 'mail [email]' },
            { role: 'user', content: 'and wait' },
          ],
        },
      },
    },
  ])
})

test('400 for JSON that is nested without end', async () => {
  expect((await post('['.repeat(MIB)))[0]).toBe(400)
})

test('other paths and methods are not there', async () => {
  expect((await post(prompt('a'), '/'))[0]).toBe(404)
  expect((await post(prompt('a'), '/constructor'))[0]).toBe(404)
  expect((await fetch(`${webhook.origin}/request`)).status).toBe(404)
})

test('a prompt of 10 MiB is read, one without end is not', async () => {
  expect(await post(prompt('a'.repeat(10 * MIB)))).toEqual(allowed)
  const endless = `POST /request HTTP/1.1\r\nHost: x\r\nContent-Length: 999999999999\r\n\r\n`
  const answer = await sendUntilAnswered(webhook.port, endless, ' '.repeat(MIB))
  expect(answer).toMatch(/^HTTP\/1.1 413 /)
  expect(await post(prompt('a'))).toEqual(allowed)
})

test.each(['a', 'a@', 'a.', '@', 'a@b.', 'x@y.z '])(
  'a million times "%s" takes no longer than reading it',
  async (text) => {
    expect((await post(prompt(text.repeat(MIB))))[0]).toBe(200)
  },
)

test('one changed message: all go back, with their roles', async () => {
  const messages = [
    { role: 'system', content: '' },
    { role: 'user', content: 'jörg@bücher.example' },
  ]
  const masked = [messages[0], { role: 'user', content: '[email]' }]
  expect(await post(JSON.stringify({ body: { messages } }))).toEqual([
    200,
    { action: { body: { messages: masked } } },
  ])
})

test.each([
  ['swordfish', true],
  ['a SWORDFISH!', true],
  ['swordfishing', false],
  ['éswordfish', false],
])('the word that is blocked: %s', async (content, isBlocked) => {
  expect((await post(prompt('fine', content)))[1]).toEqual(isBlocked ? blocked : { action: {} })
})

test('BLOCKED_WORDS names others, or none', async () => {
  const other = await startNodeWebhook({ BLOCKED_WORDS: 'blue-bird, a.b ,' })
  const none = await startNodeWebhook({ BLOCKED_WORDS: '' })
  const verdicts = ['a Blue-Bird', 'a.b', 'axb', 'swordfish'].map(async (word) => [
    (await post(prompt(word), '/request', other))[1],
    (await post(prompt(word), '/request', none))[1],
  ])
  const open = { action: {} }
  expect(await Promise.all(verdicts)).toEqual([
    [blocked, open],
    [blocked, open],
    [open, open],
    [open, open],
  ])
  await Promise.all([other.close(), none.close()])
})

test('reports its address, ends at a signal, and reports why it cannot start', async () => {
  const port = await freePort()
  const start = (environment: Readonly<Record<string, string>>) =>
    spawn(process.execPath, [SAMPLE_WEBHOOK], { env: environment })
  const first = start({ PORT: String(port) })
  const [line] = (await once(first.stdout.setEncoding('utf8'), 'data')) as [string]
  expect(line).toBe(`guardrail webhook at http://127.0.0.1:${String(port)}\n`)
  const second = start({ PORT: String(port) })
  expect(await text(second.stderr)).toBe(
    `webhook: listen EADDRINUSE: address already in use 127.0.0.1:${String(port)}\n`,
  )
  first.kill('SIGTERM')
  expect(await once(first, 'exit')).toEqual([0, null])
})

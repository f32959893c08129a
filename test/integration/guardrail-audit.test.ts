// Guardrail webhooks of mode Audit through the whole product: they get copies, and nothing that they do affects the
// client or the LLM.

import { brotliCompressSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { auditedVerdicts, linesWith } from '../support/audits.js'
import { type Backend, startBackend } from '../support/backend.js'
import {
  answerJson,
  asked,
  both,
  chat,
  completion,
  guardedRoute,
  type GuardedStack,
  hook,
  sample,
  service,
  startGuardedStack,
} from '../support/guardrails.js'
import { bearer } from '../support/http.js'
import { jwt, sign } from '../support/protected-stack.js'
import { type Document, inAudit, proxyPolicy } from '../support/resources.js'
import { nextReply } from '../support/streaming-llm.js'
import { newKey } from '../support/tokens.js'

const key = await newKey('k1')

let second: Backend
let stack: GuardedStack

const auditedRoute = (path: string, guards: object): readonly object[] =>
  guardedRoute(path, guards).map((document: Document) =>
    document.kind === 'ProxyPolicy' ? inAudit(document) : document,
  )

const inAuditToo = (name: string): object => ({ ...hook(name), mode: 'Audit' })

beforeAll(async () => {
  second = await startBackend('second')
  stack = await startGuardedStack(
    [
      ...service('second', second.port),
      ...auditedRoute('/audited', both(hook('guard'))),
      ...guardedRoute('/claims', {
        request: [hook('guard', { headers: { 'x-user': 'jwt.sub' } })],
      }),
      inAudit(proxyPolicy('claims-tokens', 'claims', { jwtAuthentication: jwt([key]) })),
      ...guardedRoute('/mixed', both(inAuditToo('second'), hook('guard'))),
    ],
    { own: true },
  )
})
afterAll(async () => {
  await stack.close()
  await second.close()
})
beforeEach(() => {
  stack.reset()
  second.requests.length = 0
  second.answer(sample)
})

const lines = (text: string, count: number) => linesWith(stack, text, count)
const verdicts = (webhook: string) => auditedVerdicts(stack, webhook)

test('a prompt and a reply that would be rejected or changed pass byte for byte, and are logged and counted', async () => {
  const reply = JSON.stringify(completion('a secret'), null, 1)
  stack.llm.answer((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(reply)
  })
  const prompt = chat('please block')
  const answer = await stack.post('/audited', prompt, { 'accept-encoding': 'gzip' })
  expect(answer).toMatchObject({ status: 200, body: reply })
  expect(stack.llm.requests.at(-1)).toMatchObject({
    body: prompt,
    headers: { 'accept-encoding': 'gzip' },
  })
  await eventually(async () =>
    expect(await verdicts('guard')).toEqual({ 'request reject': 1, 'response modify': 1 }),
  )
  // The copies of both phases are judged beside each other.
  const logged = await lines('"guardrail verdict"', 2)
  const [rejected, changed] = ['request', 'response'].map((phase) =>
    logged.find((line) => line['phase'] === phase),
  )
  expect(rejected).toMatchObject({
    mode: 'audit',
    decision: 'deny',
    phase: 'request',
    reason: 'a word',
    policy: 'default/audited',
    rule: 'promptGuard.request[0]',
    path: '/audited/v1/chat/completions',
  })
  expect(changed).toMatchObject({ mode: 'audit', decision: 'change', phase: 'response' })
  expect(stack.log()).not.toContain('please')
})

test.each([
  ['gzip', gzipSync],
  ['br', brotliCompressSync],
] as const)('a prompt in %s passes as it is, and is judged decoded', async (encoding, encode) => {
  const prompt = encode(chat('block this too'))
  const { status } = await fetch(`${stack.origin}/audited/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'content-encoding': encoding },
    body: prompt,
  })
  expect(status).toBe(200)
  expect(stack.llm.requests.at(-1)?.headers).toMatchObject({
    'content-encoding': encoding,
    'content-length': String(prompt.length),
  })
  await eventually(() => {
    const contents = asked(stack.webhook).flatMap(({ messages = [] }) => messages)
    expect(contents).toContainEqual({ role: 'user', content: 'block this too' })
  })
})

test('a prompt in an encoding that is none passes, and the log says why it was not read', async () => {
  const { status } = await fetch(`${stack.origin}/audited/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
    body: 'not compressed',
  })
  expect(status).toBe(200)
  const [line] = await lines('"guardrail_unreadable"', 1)
  expect(line).toMatchObject({
    msg: 'guardrail refusal',
    mode: 'audit',
    phase: 'request',
    problem: expect.stringContaining('compressed in a way that cannot be read') as string,
  })
})

test('beside webhooks in force these decide, and each is named by its place in the list', async () => {
  const blocked = await stack.post('/mixed', chat('please block'))
  expect(blocked.status).toBe(403)
  expect(stack.llm.requests).toHaveLength(0)
  const [denied] = await lines('"rule":"promptGuard.request[1]"', 1)
  expect(denied).not.toHaveProperty('mode')
  second.answer(answerJson({ action: { body: 'no', status_code: 400 } }))
  const answer = await stack.post('/mixed', chat('a secret'))
  expect(answer.status).toBe(200)
  expect(stack.llm.requests.at(-1)?.body).toBe(chat('a ****'))
  const [audited] = await lines('"service/default/second/80","phase":"response"', 1)
  expect(audited).toMatchObject({ mode: 'audit', rule: 'promptGuard.response[0]' })
  // Envoy copies only what the webhooks in force let pass.
  expect(asked(second)[0]?.messages?.map(({ content }) => content)).toEqual(['a ****'])
})

test('a webhook that never answers holds up nothing, and is counted when it fails in the end', async () => {
  const open: (() => void)[] = []
  stack.webhook.answer((_request, response) => {
    open.push(() => response.writeHead(500).end())
  })
  const before = (await verdicts('guard'))['request fail-closed'] ?? 0
  expect((await stack.post('/audited', chat('hi'))).status).toBe(200)
  await eventually(() => expect(open).toHaveLength(2))
  for (const end of open) end()
  await eventually(async () =>
    expect((await verdicts('guard'))['request fail-closed']).toBe(before + 1),
  )
})

test.each([
  ['a body that is no conversation', '{"model":"m"}'],
  ['a body that is no JSON', 'hello'],
  ['a body beyond what a guard reads', chat('x'.repeat(11 * 1024 * 1024))],
])('%s passes', async (_name, body) => {
  const answer = await stack.post('/audited', body)
  expect(answer.status).toBe(200)
  expect(stack.llm.requests.at(-1)?.body.length).toBe(body.length)
})

test('events of a stream pass one by one, unread and unchanged, while the webhook is still asked', async () => {
  const held: (() => void)[] = []
  stack.webhook.answer((request, response) => held.push(() => void sample(request, response)))
  const reply = nextReply(stack.llm)
  const answer = await fetch(`${stack.origin}/audited/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: chat('hi', { stream: true }),
  })
  const llm = await reply
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()
  for (const word of ['block ', 'a ', 'secret']) {
    llm.say(word)
    expect((await reader?.read())?.value).toContain(JSON.stringify(word))
  }
  llm.end()
  expect((await reader?.read())?.value).toContain('[DONE]')
  // Otherwise it would be asked, and answer, during a later test.
  await eventually(() => {
    const replies = stack.webhook.requests.filter(({ url }) => url === '/response')
    expect(replies.filter(({ body }) => body.includes('block'))).toHaveLength(1)
  })
  for (const answer of held) answer()
})

test('a stream that would be ended early ends as the model ends it, and is logged', async () => {
  const before = (await verdicts('guard'))['response reject'] ?? 0
  const reply = nextReply(stack.llm)
  const answer = stack.post('/audited', chat('hi', { stream: true }))
  const llm = await reply
  llm.say('please block this')
  llm.finish()
  llm.end()
  expect((await answer).body).toContain('"block t"')
  expect((await answer).body).toContain('[DONE]')
  await eventually(async () =>
    expect((await verdicts('guard'))['response reject']).toBe(before + 1),
  )
})

/** How many streams of copies are open, and how many bytes of all bodies are held. */
async function openAndHeld(): Promise<readonly number[]> {
  const lines = (await stack.metrics()).split('\n')
  return ['gatehouse_open_streams{type="guard-audit"}', 'gatehouse_held_bytes'].map((series) => {
    const line = lines.find((each) => each.startsWith(`${series} `))
    return Number(line?.slice(series.length))
  })
}

test('clients that leave in the middle leave nothing behind', async () => {
  const held: (() => void)[] = []
  stack.webhook.answer((request, response) => held.push(() => void sample(request, response)))
  const reply = nextReply(stack.llm)
  const leaving = new AbortController()
  await fetch(`${stack.origin}/audited/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: chat('hi', { stream: true }),
    signal: leaving.signal,
  })
  ;(await reply).say('word '.repeat(1000))
  await eventually(async () => {
    const [open = 0, bytes = 0] = await openAndHeld()
    expect(open).toBeGreaterThan(0)
    expect(bytes).toBeGreaterThan(0)
    expect(held).not.toEqual([])
  })
  leaving.abort()
  await (
    await reply
  ).closed
  stack.webhook.answer(sample)
  for (const answer of held) answer()
  // Envoy leaves a stream of copies open for 10 s after its request.
  await eventually(async () => expect(await openAndHeld()).toEqual([0, 0]))
  stack.reset()
  expect((await stack.post('/audited', chat('hi'))).status).toBe(200)
})

test('a webhook in force reads the claims that audited tokens verified, and no others', async () => {
  const userOf = async (token: string): Promise<unknown> => {
    expect((await stack.post('/claims', chat('whose?'), bearer(token))).status).toBe(200)
    // Copies of earlier tests may still arrive.
    return stack.webhook.requests.findLast(({ body }) => body.includes('whose?'))?.headers['x-user']
  }
  expect(await userOf(await sign(key, { sub: 'alice' }))).toBe('alice')
  expect(await userOf(await sign(await newKey('k1'), { sub: 'mallory' }))).toBeUndefined()
})

test('the status shows that the webhooks of the policy are audited', async () => {
  const policy = (await stack.status()).find(
    ({ kind, name }) => kind === 'ProxyPolicy' && name === 'audited',
  )
  expect(policy?.conditions.find(({ type }) => type === 'Attached')).toMatchObject({
    reason: 'Audit',
    message: expect.stringContaining(
      'Audited, that is logged and counted: backend.ai.promptGuard',
    ) as string,
  })
})

test('without Gatehouse an audited route serves on', async () => {
  const own = await startGuardedStack(auditedRoute('/alone', both(hook('guard'))), { own: true })
  try {
    own.reset()
    expect((await own.post('/alone', chat('hi'))).status).toBe(200)
    own.child.kill('SIGSTOP')
    expect((await own.post('/alone', chat('hi'))).status).toBe(200)
  } finally {
    own.child.kill('SIGCONT')
    await own.close()
  }
})

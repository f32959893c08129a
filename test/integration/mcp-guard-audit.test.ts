// Webhooks of mode Audit on MCP traffic through a real Envoy: they get copies, and nothing that they do affects the
// client or the server.

import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { auditedVerdicts, linesWith } from '../support/audits.js'
import { type Backend, startBackend } from '../support/backend.js'
import { answerJson, both, hook, sample, service } from '../support/guardrails.js'
import {
  events,
  guardedMcp,
  json,
  type McpGuardStack,
  questions,
  startMcpGuardStack,
  toolCall,
} from '../support/mcp-guards.js'
import { type Document, inAudit } from '../support/resources.js'

let second: Backend
let stack: McpGuardStack

const audited = (path: string, guard: object): readonly object[] =>
  guardedMcp(path, 'raw', guard).map((document: Document) =>
    document.kind === 'ProxyPolicy' ? inAudit(document) : document,
  )

beforeAll(async () => {
  second = await startBackend('second')
  stack = await startMcpGuardStack(
    () => [
      ...service('second', second.port),
      ...audited('/audited', both(hook('guard'))),
      ...guardedMcp('/mixed', 'raw', both({ ...hook('second'), mode: 'Audit' }, hook('guard'))),
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

const call = (note: string): string => JSON.stringify(toolCall(7, 'fetch', { note }))
const answered = (text: string): string =>
  JSON.stringify({ jsonrpc: '2.0', id: 7, result: { content: [{ type: 'text', text }] } }, null, 1)

test('a call and a result that would be rejected or changed pass byte for byte, and are logged and counted', async () => {
  const result = answered('a secret')
  stack.server.answer(json(result))
  const body = call('please block')
  const answer = await stack.post('/audited', body, { 'accept-encoding': 'gzip' })
  expect(answer).toMatchObject({ status: 200, body: result })
  expect(stack.server.requests.at(-1)).toMatchObject({
    body,
    headers: { 'accept-encoding': 'gzip' },
  })
  await eventually(async () =>
    expect(await auditedVerdicts(stack, 'guard')).toEqual({
      'request reject': 1,
      'response modify': 1,
    }),
  )
  expect(questions(stack.webhook).sort()).toEqual([
    '/request tools/call fetch | tool_argument: please block',
    '/response tools/call fetch | tool: a secret',
  ])
  const found = await linesWith(stack, '"guardrail verdict"', 2)
  expect(found.find(({ phase }) => phase === 'request')).toMatchObject({
    mode: 'audit',
    decision: 'deny',
    reason: 'a word',
    tool: 'fetch',
    path: '/audited',
    policy: 'default/audited-guard',
    rule: 'mcp.guard.request[0]',
  })
  expect(found.find(({ phase }) => phase === 'response')).toMatchObject({
    mode: 'audit',
    decision: 'change',
    rule: 'mcp.guard.response[0]',
  })
  expect(stack.log()).not.toContain('please')
})

test('beside webhooks in force these decide, and each is named by its place in the list', async () => {
  const rejected = await stack.post('/mixed', call('block'))
  expect(rejected.body).toContain('"isError":true')
  expect(stack.server.requests).toHaveLength(0)
  const [denied] = await linesWith(stack, '"rule":"mcp.guard.request[1]"', 1)
  expect(denied).not.toHaveProperty('mode')
  second.answer(answerJson({ action: { body: 'no', status_code: 400 } }))
  stack.server.answer(json(answered('fine')))
  const answer = await stack.post('/mixed', call('a secret'))
  expect(answer).toMatchObject({ status: 200, body: answered('fine') })
  await eventually(() =>
    // Envoy copies only what the webhooks in force let pass.
    expect(questions(second).sort()).toEqual([
      '/request tools/call fetch | tool_argument: a ****',
      '/response tools/call fetch | tool: fine',
    ]),
  )
  const [first] = await linesWith(stack, '"service/default/second/80","phase":"response"', 1)
  expect(first).toMatchObject({ mode: 'audit', rule: 'mcp.guard.response[0]' })
})

test('a webhook that never answers holds up nothing, and is counted when it fails in the end', async () => {
  const open: (() => void)[] = []
  stack.webhook.answer((_request, response) => {
    open.push(() => response.writeHead(500).end())
  })
  stack.server.answer(json(answered('fine')))
  expect((await stack.post('/audited', call('hi'))).body).toBe(answered('fine'))
  await eventually(() => expect(open).toHaveLength(2))
  for (const end of open) end()
  await eventually(async () =>
    expect(await auditedVerdicts(stack, 'guard')).toMatchObject({
      'request fail-closed': 1,
      'response fail-closed': 1,
    }),
  )
})

test.each([
  ['a body that is no JSON', 'hello'],
  ['a body beyond what a guard reads', call('x'.repeat(11 * 1024 * 1024))],
])('%s passes', async (_name, body) => {
  stack.server.answer(json(answered('fine')))
  expect((await stack.post('/audited', body)).status).toBe(200)
  expect(stack.server.requests.at(-1)?.body.length).toBe(body.length)
})

test('a compressed message passes as it is, and is judged decoded', async () => {
  stack.server.answer(json(answered('fine')))
  const message = gzipSync(call('block this too'))
  const { status } = await fetch(`${stack.origin}/audited`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
    body: message,
  })
  expect(status).toBe(200)
  expect(stack.server.requests.at(-1)?.headers).toMatchObject({
    'content-encoding': 'gzip',
    'content-length': String(message.length),
  })
  await eventually(() =>
    expect(questions(stack.webhook).join()).toContain('tool_argument: block this too'),
  )
})

test('a compressed reply passes as it is, and the log says that it was not read', async () => {
  const bytes = gzipSync(answered('a secret'))
  stack.server.answer((_request, response) => {
    response
      .writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' })
      .end(bytes)
  })
  const answer = await fetch(`${stack.origin}/audited`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'accept-encoding': 'gzip' },
    body: call('hi'),
  })
  expect([answer.headers.get('content-encoding'), await answer.text()]).toEqual([
    'gzip',
    answered('a secret'),
  ])
  await linesWith(stack, '"problem":"it is compressed"', 1)
})

test('a stream that would be ended early ends as the server ends it', async () => {
  const asking = `data: ${JSON.stringify(toolCall(1, 'x', { note: 'block' }))}\n\n`
  const last = `data: ${answered('fine').replaceAll('\n', '')}\n\n`
  stack.server.answer(events(asking, last))
  const answer = await stack.post('/audited', call('hi'))
  expect(answer.body).toBe(asking + last)
  await eventually(() =>
    expect(questions(stack.webhook)).toContain('/response tools/call x | tool: block'),
  )
})

test('the status shows that the webhooks of the policy are audited', async () => {
  const attached = async (name: string) =>
    (await stack.status())
      .find((entry) => entry.kind === 'ProxyPolicy' && entry.name === name)
      ?.conditions.map(({ reason, message }) => `${reason}: ${message}`)
      .join('\n')
  expect(await attached('audited-guard')).toContain('Audit: Attached to all targets')
  expect(await attached('audited-guard')).not.toContain('Not in force')
  expect(await attached('mixed-guard')).toContain(
    'mcp.guard.request[0].webhook is of mode Audit: its verdict changes nothing',
  )
})

test('without Gatehouse an audited route serves on', async () => {
  const own = await startMcpGuardStack(() => audited('/alone', both(hook('guard'))), {
    own: true,
  })
  try {
    own.reset()
    own.server.answer(json(answered('fine')))
    expect((await own.post('/alone', call('hi'))).status).toBe(200)
    own.child.kill('SIGSTOP')
    expect((await own.post('/alone', call('hi'))).body).toBe(answered('fine'))
  } finally {
    own.child.kill('SIGCONT')
    await own.close()
  }
})

// `gatehouse explain`, from files and from the running Gatehouse, agrees with Envoy: the same route, status, reason, reason
// of audits, redirect and challenge for each request of a list.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Explanation } from '../../src/ops/explain/explanation.js'
import { eventually } from '../../testing/eventually.js'
import type { Backend } from '../support/backend.js'
import { startBackend } from '../support/backend.js'
import { agreement, type Asked } from '../support/explain-agreement.js'
import { explain } from '../support/explain-command.js'
import { explainedRoutes, ISSUER } from '../support/explained-routes.js'
import { chat, sample, service } from '../support/guardrails.js'
import { send } from '../support/http.js'
import { toolCall } from '../support/mcp-guards.js'
import { backendRef, gateway, httpRoute, proxyBackend } from '../support/resources.js'
import { type Stack, startStack } from '../support/stack.js'
import { newKey, type SigningKey, signToken } from '../support/tokens.js'

let backend: Backend
let webhook: Backend
let stack: Stack
let key: SigningKey
let folder: string

/** --max-body-bytes. */
const LIMIT = 64 * 1024

beforeAll(async () => {
  key = await newKey('k1')
  backend = await startBackend()
  webhook = await startBackend('webhook')
  webhook.answer(sample)
  folder = await mkdtemp(join(tmpdir(), 'explain-test-'))
  stack = await startStack({
    resources: (port) => [
      gateway([port]),
      proxyBackend('backend', backend),
      ...explainedRoutes(key),
      ...service('guard', webhook.port),
      httpRoute('unresolved', {
        hostnames: ['unresolved.example'],
        rules: [{ backendRefs: [backendRef('nobody')] }],
      }),
    ],
    flags: ['--access-log', '--max-body-bytes', String(LIMIT)],
  })
  await eventually(async () =>
    expect((await send(stack.origin, '/', { headers: { host: 'one.example' } })).status).toBe(200),
  )
})
afterAll(async () => {
  await stack.close()
  await Promise.all([backend.close(), webhook.close()])
  await rm(folder, { recursive: true, force: true })
})

const expectAgreement = (all: readonly Asked[]): Promise<readonly Explanation[]> =>
  agreement({ stack, folder, maxBodyBytes: LIMIT }, all)

const words = (text: string): readonly string[] => text.trim().split(/\s+/)

test.concurrent('hosts', async () => {
  const names = words(`
    one.example ONE.Example one.example. one.example:8080 one.example.:8080 two.example
    a.wild.example a.b.wild.example wild.example narrow.wild.example x.narrow.wild.example
    a.deep.wild.example deep.wild.example 127.0.0.1`)
  await expectAgreement(names.map((host) => ({ host, path: '/' })))
})

test.concurrent('paths', async () => {
  const paths = words(String.raw`
    /exact /exact/ /exact?x=1 /Exact /%65xact /./exact /x/../exact //exact /x//../exact /exact/.
    /prefix /prefix/ /prefixes /prefix/longer /prefix/longer/ /prefix/longest /prefix//longer
    /prefix/%6conger /prefix%2flonger /prefix%2Flonger /prefix%5Clonger /prefix/%2e%2e/exact
    /prefix/.%2E/exact /re/12 /re/12/ /re/x /re/1%32 /sl/ /sl /prefix;x /prefix\longer /prefix%00
    /prefix%7Elonger /%zz /prefix/% /prefix/.. /../prefix /.. /prefix/%41 /prefix%20x /prefix/a|b
    /prefix/"x" /prefix/{x} /nothing / /prefix/%2fexact? /prefix?x=%2f`)
  await expectAgreement([
    ...paths.map((path) => ({ host: 'match.example', path })),
    ...words('/mcp;x /other;x /mcp?a;b /mcp%3bx').map((path) => ({ host: 'mcp.example', path })),
  ])
})

test.concurrent('methods, headers and parameters', async () => {
  const get = (path: string, ...headers: readonly string[]): Asked => ({
    host: 'match.example',
    path,
    headers,
  })
  await expectAgreement([
    get('/h', 'X-Version: 2'),
    get('/h', 'x-version: 3'),
    get('/h'),
    get('/h', 'x-version: 2', 'x-more: y'),
    get('/h', 'x-version: 2', 'x-version: 2'),
    get('/hr', 'x-v: v7'),
    get('/hr', 'x-v: v77'),
    get('/joined', 'x-list: a', 'x-list: b'),
    get('/joined', 'x-list: a,b'),
    ...words('/q?q=b%20c /q?q=b+c /q?q=%62%20c /q?q=x&q=b%20c /q?q=b%20c&q=x /q?p=1&q=b%20c').map(
      (path) => get(path),
    ),
    ...words('/q?q /qr?q=bbb /qr?q=abbb /m').map((path) => get(path)),
    { ...get('/m'), method: 'PUT' },
    { ...get('/m'), method: 'PATCH' },
    get('/m', 'under_score: 1'),
    get('/m', 'gatehouse-hops: 11111'),
    get('/m', 'gatehouse-hops: 1111'),
    get('/m', 'x-gatehouse-route: x'),
  ])
})

test.concurrent('upgrades to another protocol, and answers to HEAD', async () => {
  const to = (host: string, path: string, protocol: string, connection = 'Upgrade'): Asked => ({
    name: `${protocol} by ${connection}`,
    host,
    path,
    headers: [`Connection: ${connection}`, `Upgrade: ${protocol}`],
  })
  const explanations = await expectAgreement([
    ...['mcp.example', 'tools.example', 'llm.example', 'broken.example', 'limited.example'].map(
      (host) => to(host, '/mcp', 'websocket'),
    ),
    to('mcp.example', '/mcp', 'WebSocket', 'keep-alive, upgrade'),
    to('redirect.example', '/scheme', 'websocket'),
    to('nobody.example', '/', 'websocket'),
    to('open.example', '/', 'websocket'),
    to('open.example', '/', 'other'),
    to('tools.example', '/', 'h2c'),
    to('tools.example', '/', 'websocket', 'close'),
    { host: 'mcp.example', path: '/mcp', method: 'HEAD' },
  ])
  expect(explanations.at(-1)?.answer).not.toHaveProperty('body')
})

test.concurrent('redirects', async () => {
  const paths = words(`/scheme /scheme/x?y=1 /host/x /port/x /all/x?y /full/x?y=1 /pre /pre/
    /pre/x?y=1 /none /none/x /none/x?y=1`)
  const hosts = ['redirect.example', 'redirect.example:80', 'redirect.example:8080']
  await expectAgreement(hosts.flatMap((host) => paths.map((path) => ({ host, path }))))
})

test.concurrent('policies', async () => {
  const claims = { iss: ISSUER, aud: 'mcp', team: 'blue' }
  const token = (more: object = {}): Promise<string> =>
    signToken({ key, claims: { ...claims, ...more } })
  const cases: readonly (readonly [reason: string, asked: Partial<Asked>])[] = [
    ['no-token', {}],
    ['malformed-token', { token: 'opaque-token' }],
    ['allowed', { token: await token() }],
    ['wrong-audience', { token: await token({ aud: ['x'] }) }],
    ['unknown-issuer', { token: await token({ iss: 'x' }) }],
    ['expired', { token: await token({ exp: 1 }) }],
    ['bad-signature', { token: await signToken({ key: await newKey('k1'), claims }) }],
    ['unknown-key', { token: await signToken({ key, claims, header: { kid: 'k2' } }) }],
    ['no-rule-allows', { token: await token({ team: 'red' }) }],
    ['no-rule-allows', { method: 'PUT', token: await token() }],
    ['origin-not-allowed', { headers: ['Origin: https://evil.example'], token: await token() }],
    ['allowed', { headers: ['Origin: https://good.example'], token: await token() }],
  ]
  const explanations = await expectAgreement(
    cases.map(([reason, asked], index) => ({
      name: `${String(index)} ${reason}`,
      host: 'mcp.example',
      path: '/mcp',
      ...asked,
    })),
  )
  expect(explanations.map(({ answer }) => answer.reason)).toEqual(cases.map(([reason]) => reason))
  for (const { result, changes } of explanations)
    expect(changes.length > 0).toBe(result !== 'allowed')
})

test.concurrent('rules on tools, with a body', async () => {
  const call = (name: string): Asked => ({
    host: 'tools.example',
    path: '/',
    method: 'POST',
    headers: ['Content-Type: application/json'],
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name } }),
  })
  const zipped = ({ headers = [], body = '', ...asked }: Asked): Asked => ({
    ...asked,
    headers: [...headers, 'Content-Encoding: gzip'],
    body: gzipSync(body),
  })
  const large = JSON.stringify('x'.repeat(1 << 20))
  const own = { ...call('list'), host: 'own-tools.example' }
  const token = await signToken({ key, claims: { iss: ISSUER, aud: 'mcp' } })
  const explanations = await expectAgreement([
    call('list'),
    call('drop'),
    { ...call(''), body: '{' },
    { ...call(''), body: large },
    { ...own, token },
    own,
    { ...own, body: large },
    { ...own, body: large, token },
    { ...own, host: 'beside-tools.example', body: large, token },
    { ...own, host: 'beside-tools.example', body: large },
    { ...own, host: 'trial-tools.example', body: large },
    ...['list', 'drop', 'x'.repeat(1 << 21)].map((name) => zipped(call(name))),
    { ...zipped(call('list')), body: Buffer.from('damaged') },
    { ...zipped(own), token },
  ])
  expect(explanations.map(({ answer }) => answer.reason ?? answer.status)).toEqual([
    'allowed',
    'denied-by-rule',
    'not-a-message',
    'body-too-large',
    'allowed',
    'no-token',
    'no-token',
    'body-too-large',
    'allowed',
    'no-token',
    'allowed',
    'allowed',
    'denied-by-rule',
    'body-too-large',
    'not-a-message',
    'allowed',
  ])
})

test.concurrent('scopes, limits, header changes, filtered lists and audits', async () => {
  const claims = { iss: ISSUER, aud: 'mcp', team: 'blue' }
  const blue = await signToken({ key, claims: { ...claims, scope: 'tools.call' } })
  const plainToken = await signToken({ key, claims })
  const red = await signToken({ key, claims: { ...claims, team: 'red' } })
  const to = (name: string, host: string, more: Partial<Asked> = {}): Asked => ({
    name,
    host,
    path: '/',
    ...more,
  })
  const call = (name: string): Partial<Asked> => ({
    method: 'POST',
    headers: ['Content-Type: application/json'],
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: name, params: { name: 'drop' } }),
  })
  const cases: readonly (readonly [
    reason: string | undefined,
    audit: string | undefined,
    Asked,
  ])[] = [
    ['insufficient-scope', undefined, to('none', 'scopes.example', { token: plainToken })],
    ['allowed', undefined, to('some', 'scopes.example', { token: blue })],
    [undefined, undefined, to('limited', 'limited.example')],
    ['allowed', undefined, to('keyed', 'keyed.example')],
    ['allowed', undefined, to('list', 'lists.example', { token: blue, ...call('ping') })],
    [
      'denied-by-rule',
      undefined,
      to('call', 'lists.example', { token: blue, ...call('tools/call') }),
    ],
    ['no-token', undefined, to('nobody', 'lists.example', call('tools/list'))],
    ['allowed', 'no-rule-allows', to('red', 'audited.example', { token: red })],
    ['allowed', undefined, to('blue', 'audited.example', { token: blue })],
    ['no-token', undefined, to('nobody', 'audited.example')],
    ['allowed', 'no-token', to('nobody', 'trial.example')],
    ['allowed', 'malformed-token', to('opaque', 'trial.example', { token: 'opaque-token' })],
  ]
  const explanations = await expectAgreement(cases.map(([, , asked]) => asked))
  expect(
    explanations.map(({ answer, audit }) => [
      answer.reason,
      audit?.decision === 'deny' ? audit.reason : undefined,
    ]),
  ).toEqual(cases.map(([reason, audit]) => [reason, audit]))
  const policies = explanations.map((each) => each.policies.map(({ policy }) => policy).join())
  expect(new Set(policies)).toEqual(
    new Set(
      ['scopes', 'limited', 'keyed', 'lists', 'audited,audited-trial', 'trial'].map((names) =>
        names.replace(/[^,]+/g, 'default/$&'),
      ),
    ),
  )
})

test.concurrent('guarded bodies: their form and size', async () => {
  const json = 'Content-Type: application/json'
  const to = (host: string, body: string | undefined, ...headers: readonly string[]): Asked => ({
    name: `${String(body?.length)} bytes`,
    host,
    path: '/v1/chat/completions',
    method: body === undefined ? 'GET' : 'POST',
    headers,
    ...(body !== undefined && { body }),
  })
  const llm = (body: string | undefined, ...headers: readonly string[]): Asked =>
    to('llm.example', body, ...headers)
  const mcp = (body: string | undefined, ...headers: readonly string[]): Asked =>
    to('calls.example', body, ...headers)
  const ofSize = (size: number): string => chat('x'.repeat(size - chat('').length))
  const call = (text: string): string =>
    JSON.stringify({ ...toolCall(1, 'echo', { text }), jsonrpc: '2.0' })
  const callOfSize = (size: number): string => call('x'.repeat(size - call('').length))
  const cases: readonly (readonly [reason: string | undefined, asked: Asked])[] = [
    [undefined, llm(chat('hi'), json)],
    [undefined, llm(chat('hi'), 'Content-Type: application/json; charset=utf-8')],
    [undefined, llm(undefined)],
    [undefined, llm(ofSize(LIMIT - 1), json)],
    [undefined, llm(ofSize(LIMIT), json)],
    ['guardrail_too_large', llm(ofSize(LIMIT + 1), json)],
    ['guardrail_too_large', llm('{'.repeat(2 * LIMIT), json)],
    ['guardrail_unreadable', llm(chat('hi'), 'Content-Type: text/plain')],
    ['guardrail_unreadable', llm(chat('hi'), json, 'Content-Encoding: gzip')],
    ['guardrail_unreadable', llm(chat('hi'), json, json)],
    ['guardrail_unreadable', llm('{"messages":', json)],
    ['guardrail_unreadable', llm('{"messages":[],"messages":[]}', json)],
    ['guardrail_unreadable', llm('[]', json)],
    ['guardrail_unreadable', llm('{}', json)],
    ['guardrail_unreadable', llm('{"messages":[{"role":7}]}', json)],
    ['guardrail_unreadable', llm(`{"messages":${'['.repeat(2_000)}`, json)],
    [undefined, mcp(call('hi'), json)],
    [undefined, mcp(callOfSize(LIMIT), json)],
    ['guardrail_too_large', mcp(callOfSize(LIMIT + 1), json)],
    ['guardrail_unreadable', mcp('{', json)],
    ['guardrail_unreadable', mcp('{}', json)],
    ['guardrail_unreadable', mcp(call('hi'), 'Content-Type: text/plain')],
    [
      'guardrail_unreadable',
      mcp(call('hi'), json, 'Mcp-Method: ping', 'MCP-Protocol-Version: 2026-07-28'),
    ],
    ['guardrail_unreadable', mcp('{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', json)],
  ]
  const explanations = await expectAgreement(cases.map(([, asked]) => asked))
  expect(explanations.map(({ answer }) => answer.reason)).toEqual(cases.map(([reason]) => reason))
  for (const { result, changes, notes } of explanations)
    expect(result === 'allowed' ? notes.join() : changes.join()).toMatch(
      /Webhooks are asked|--max-body-bytes|in a form that/,
    )
})

test.concurrent('documents, preflights, and routes that refuse', async () => {
  const mcp = (path: string, more: Partial<Asked> = {}): Asked => ({
    host: 'mcp.example',
    path,
    ...more,
  })
  const preflights = ['https://good.example', 'null'].flatMap((origin) =>
    [['Access-Control-Request-Method: POST'], []].map((more) =>
      mcp('/mcp', { method: 'OPTIONS', headers: [`Origin: ${origin}`, ...more] }),
    ),
  )
  const [document, none, broken, , open] = await expectAgreement([
    mcp('/.well-known/oauth-protected-resource/mcp'),
    mcp('/.well-known/oauth-protected-resource/mcp/none'),
    { host: 'broken.example', path: '/' },
    { host: 'unresolved.example', path: '/' },
    { host: 'open.example', path: '/' },
    ...preflights,
  ])
  expect([document?.result, none?.answer.status, broken?.result]).toEqual([
    'answered',
    404,
    'refused',
  ])
  expect(broken?.changes.join()).toContain('ProxyPolicy default/broken')
  expect(open?.answer.text).toContain('no policy decides')
})

test('no explanation leaves a token in the log of the running Gatehouse, or a line in the decision log', async () => {
  const token = await signToken({ key, claims: { iss: ISSUER, aud: 'mcp', exp: 1 } })
  const file = join(folder, 'refused')
  for (const each of ['opaque-token', token]) {
    await writeFile(file, each)
    const request = ['--request', 'GET http://audited.example/explained', '--token', file]
    const place = ['--admin', new URL(stack.admin).host, '--listener-port', String(stack.port)]
    expect(await explain([...place, ...request])).toMatchObject({ result: 'denied' })
  }
  // A request that Envoy gets leaves its line after whatever an explanation would leave.
  const headers = { host: 'audited.example', authorization: `Bearer ${token}` }
  expect((await send(stack.origin, '/asked', { headers })).status).toBe(401)
  const [asked] = await eventually(() => {
    const lines = decisions().filter(({ path }) => path === '/asked')
    expect(lines).toHaveLength(1)
    return lines
  })
  expect(asked).toMatchObject({ decision: 'deny', reason: 'expired' })
  expect(decisions().filter(({ path }) => path === '/explained')).toEqual([])
  expect(stack.log()).not.toMatch(/eyJ|opaque-token/)
})

/** The lines of the decision log. */
const decisions = (): readonly Readonly<Record<string, unknown>>[] =>
  stack
    .log()
    .split('\n')
    .filter((line) => line.includes('"msg":"decision"'))
    .map((line) => JSON.parse(line) as Record<string, unknown>)

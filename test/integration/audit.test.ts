// Policies of mode Audit through a real Envoy: what they would refuse passes unchanged, and is logged and counted.

import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { eventually } from '../../testing/eventually.js'
import { type Backend, startBackend } from '../support/backend.js'
import { type Answer, bearer, send } from '../support/http.js'
import { jwt, protectedRoute, sign } from '../support/protected-stack.js'
import {
  allow,
  gateway,
  httpRoute,
  inAudit,
  proxyBackend,
  proxyPolicy,
  rule,
} from '../support/resources.js'
import { type Stack, startStack } from '../support/stack.js'
import { newKey } from '../support/tokens.js'

const EXAMPLE = resolve(import.meta.dirname, '../../config/examples/audit.yaml')

const key = await newKey('k1')
const token = await sign(key, { sub: 'alice' })
const stranger = await sign(await newKey('k2'))
const jwtAuthentication = jwt([key])

let backend: Backend
let stack: Stack

function changing(mode: 'Audit' | 'Enforce'): object {
  const policy = proxyPolicy('changing', 'changing', { jwtAuthentication })
  return mode === 'Audit' ? inAudit(policy) : policy
}

beforeAll(async () => {
  backend = await startBackend()
  stack = await startStack({
    own: true,
    resources: (port) => [
      gateway([port]),
      proxyBackend('backend', backend),
      httpRoute('open', { hostnames: ['open.example'], rules: [rule('/open', 'backend')] }),
      inAudit(
        proxyPolicy('open', 'open', {
          jwtAuthentication,
          rateLimit: { local: [{ requests: 1, per: '24h' }] },
          transformation: { request: { set: { 'x-user': 'jwt.sub' } } },
        }),
      ),
      ...protectedRoute('both', { jwtAuthentication }),
      inAudit(proxyPolicy('rules', 'both', { authorization: allow('jwt.sub == "bob"') })),
      httpRoute('tools', { rules: [rule('/tools', 'backend')] }),
      inAudit(proxyPolicy('tools', 'tools', { authorization: allow('mcp.tool.name == "search"') })),
      httpRoute('invalid', { rules: [rule('/invalid', 'backend')] }),
      inAudit(proxyPolicy('invalid', 'invalid', { authorization: allow('jwt.sub ==') })),
      httpRoute('changing', { rules: [rule('/changing', 'backend')] }),
    ],
  })
  await stack.write('changing.yaml', changing('Audit'))
})

afterAll(async () => {
  await stack.close()
  await backend.close()
})

/** The audited decisions of a route so far, with their counts. */
async function counts(route: string): Promise<Readonly<Record<string, number>>> {
  const series = (await stack.metrics()).matchAll(
    new RegExp(
      `^gatehouse_checks_total\\{route="default/${route}",decision="(\\w+)",reason="([\\w-]+)",mode="audit"\\} (\\d+)$`,
      'gm',
    ),
  )
  return Object.fromEntries(
    [...series].map(([, decision, reason, count]) => [`${decision} ${reason}`, Number(count)]),
  )
}

const lineOf = ({ headers }: Answer): Promise<Record<string, unknown>> =>
  eventually(() => {
    const id = String(headers['x-request-id'])
    const found = stack
      .log()
      .split('\n')
      .filter((line) => line.includes(id))
    expect(found, stack.log()).toHaveLength(1)
    return JSON.parse(found[0] ?? '') as Record<string, unknown>
  })

test('with Audit alone a bad token passes with its request unchanged, and is logged and counted', async () => {
  const answer = await send(stack.origin, '/open/a;b?y=1', {
    headers: { host: 'open.example', ...bearer(stranger), 'x-user': 'own' },
  })
  expect(answer.status).toBe(200)
  expect(answer.headers['www-authenticate']).toBeUndefined()
  expect(backend.requests.at(-1)).toMatchObject({
    url: '/open/a;b?y=1',
    headers: { ...bearer(stranger), 'x-user': 'own' },
  })
  expect(await lineOf(answer)).toMatchObject({ mode: 'audit', reason: 'path-trick', status: 400 })
  const plain = await send(stack.origin, '/open', {
    headers: { host: 'open.example', ...bearer(stranger) },
  })
  expect(await lineOf(plain)).toMatchObject({
    mode: 'audit',
    decision: 'deny',
    reason: 'unknown-key',
    status: 401,
    route: 'default/open',
    policy: 'default/open',
    verified: false,
    path: '/open',
  })
  expect(stack.log()).not.toContain(stranger)
  expect(await counts('open')).toEqual({ 'deny path-trick': 1, 'deny unknown-key': 1 })
})

test('a good token passes too, is counted as allowed and stays on the request', async () => {
  const before = (await counts('open'))['allow allowed'] ?? 0
  const headers = { host: 'open.example', ...bearer(token) }
  for (let i = 0; i < 3; i++)
    expect((await send(stack.origin, '/open', { headers })).status).toBe(200)
  expect(backend.requests.at(-1)?.headers).toMatchObject(bearer(token))
  expect(backend.requests.at(-1)?.headers).not.toHaveProperty('x-user')
  expect((await counts('open'))['allow allowed']).toBe(before + 3)
})

test('beside a policy in force, that one decides, and only what it allows is audited', async () => {
  expect((await send(stack.origin, '/both')).status).toBe(401)
  expect((await send(stack.origin, '/both', { headers: bearer(stranger) })).status).toBe(401)
  expect(await counts('both')).toEqual({})
  const answer = await send(stack.origin, '/both', { headers: bearer(token) })
  expect(answer.status).toBe(200)
  expect(backend.requests.at(-1)?.headers).not.toHaveProperty('authorization')
  expect(await lineOf(answer)).toMatchObject({
    mode: 'audit',
    reason: 'no-rule-allows',
    status: 403,
    sub: 'alice',
    verified: true,
    policy: 'default/rules',
  })
  expect(await counts('both')).toEqual({ 'deny no-rule-allows': 1 })
})

test('rules over MCP messages: denied calls, bodies that are none and large ones reach the server whole', async () => {
  const call = (name: string): string =>
    JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name, arguments: {} },
    })
  const large = call('x'.repeat(2 * 1024 * 1024))
  for (const body of [call('search'), call('remove'), 'no message', large]) {
    const headers = { 'content-type': 'application/json' }
    const answer = await send(stack.origin, '/tools', { method: 'POST', headers, body })
    expect(answer.status).toBe(200)
    expect(backend.requests.at(-1)?.body.length).toBe(body.length)
  }
  expect(await counts('tools')).toEqual({
    'allow allowed': 1,
    'deny no-rule-allows': 1,
    'deny not-a-message': 1,
    'deny body-too-large': 1,
  })
})

test('one that is not valid is refused, and its route is as if it had none', async () => {
  expect((await send(stack.origin, '/invalid')).status).toBe(200)
  const policy = (await stack.status()).find(
    ({ name, kind }) => `${kind} ${name}` === 'ProxyPolicy invalid',
  )
  expect(policy?.conditions[0]).toMatchObject({
    type: 'Accepted',
    status: 'False',
    reason: 'Invalid',
  })
})

test('the status, the page and the gauges show which policies refuse nothing, and that their routes are open', async () => {
  const all = await stack.status()
  const of = (kind: string, name: string) =>
    all.find((one) => one.kind === kind && one.name === name)
  const attached = of('ProxyPolicy', 'open')?.conditions.find(({ type }) => type === 'Attached')
  expect(attached).toMatchObject({ status: 'True', reason: 'Audit' })
  expect(attached?.message).toContain('the policy refuses and changes nothing')
  expect(attached?.message).toContain('Not audited and not in force: traffic.transformation')
  expect(of('HTTPRoute', 'open')).toMatchObject({ open: true })
  expect(of('HTTPRoute', 'open')?.conditions[0]?.message).toContain(
    'Open to everyone, as ProxyPolicy default/open of mode Audit refuses nothing',
  )
  expect(of('HTTPRoute', 'both')).not.toHaveProperty('open')
  const page = await (await fetch(stack.admin)).text()
  expect(page).toMatch(/>default\/open<\/a><span class="mark warn"><span [^>]*>◆<\/span> Audit</)
  expect(await stack.metrics()).toContain('gatehouse_policies{state="audited"} 4')
})

test('a policy that goes from Audit to Enforce closes its route, and opens it on its way back', async () => {
  const status = async (): Promise<number> => (await send(stack.origin, '/changing')).status
  expect(await status()).toBe(200)
  for (const [mode, expected] of [
    ['Enforce', 401],
    ['Audit', 200],
    ['Enforce', 401],
  ] as const) {
    await stack.write('changing.yaml', changing(mode))
    await eventually(async () => expect(await status()).toBe(expected))
  }
})

test('config/examples/audit.yaml: callers of other teams get in, and are counted', async () => {
  const documents = parseAllDocuments(await readFile(EXAMPLE, 'utf8')).map(
    (document) => document.toJS() as { kind: string; spec: Record<string, unknown> },
  )
  const [tokens, team] = documents.filter(({ kind }) => kind === 'ProxyPolicy')
  Object.assign(tokens?.spec['traffic'] ?? {}, { jwtAuthentication })
  const route = httpRoute('orders', { rules: [rule('/orders', 'backend')] })
  await stack.write('example.yaml', route, tokens ?? {}, team ?? {})
  const statusOf = async (claims?: object): Promise<number> => {
    const headers = claims === undefined ? {} : bearer(await sign(key, claims))
    return (await send(stack.origin, '/orders', { headers })).status
  }
  await eventually(async () => expect(await statusOf()).toBe(401))
  expect([await statusOf({ team: 'orders' }), await statusOf({ team: 'sales' })]).toEqual([
    200, 200,
  ])
  await eventually(async () =>
    expect(await counts('orders')).toEqual({ 'allow allowed': 1, 'deny no-rule-allows': 1 }),
  )
})

test('without Gatehouse a route with Audit alone serves on, and the others are closed', async () => {
  const own = await startStack({
    own: true,
    resources: (port) => [
      gateway([port]),
      proxyBackend('backend', backend),
      httpRoute('open', { rules: [rule('/open', 'backend')] }),
      inAudit(proxyPolicy('open', 'open', { jwtAuthentication })),
      ...protectedRoute('strict', { jwtAuthentication }),
    ],
  })
  try {
    const statusOf = async (path: string): Promise<number> =>
      (await send(own.origin, path, { headers: bearer(token) })).status
    expect([await statusOf('/open'), await statusOf('/strict')]).toEqual([200, 200])
    own.child.kill('SIGSTOP')
    expect([await statusOf('/open'), await statusOf('/strict')]).toEqual([200, 503])
  } finally {
    own.child.kill('SIGCONT')
    await own.close()
  }
})

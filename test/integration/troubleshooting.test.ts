// The rows of docs/troubleshooting.md through a real Envoy: a request for each, its status, and the reason in the line
// with its request id.

import { readFileSync } from 'node:fs'
import { request as httpRequest } from 'node:http'
import { resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { freePort } from '../../testing/ports.js'
import { type Backend, startBackend } from '../support/backend.js'
import {
  answerJson,
  chat,
  guardedRoute,
  type GuardedStack,
  hook,
  service,
  startGuardedStack,
} from '../support/guardrails.js'
import { type Answer, bearer, type Request, send } from '../support/http.js'
import { ISSUER, protectedRoute, provider, sign } from '../support/protected-stack.js'
import {
  allow,
  httpRoute,
  mcpRoute,
  proxyBackend,
  proxyPolicy,
  remoteJwks,
  rule,
} from '../support/resources.js'
import { newKey, now, signToken } from '../support/tokens.js'

const ROOT = resolve(import.meta.dirname, '../..')

const key = await newKey('one')
const forged = await newKey('one')

/** A row of the page: "STATUS REASON". */
function rowsOfPage(): readonly string[] {
  const page = readFileSync(resolve(ROOT, 'docs/troubleshooting.md'), 'utf8')
  return page.split(/^## /m).flatMap((section) => {
    const [status = ''] = /^\d{3}/.exec(section) ?? []
    const rows = section.matchAll(/^\| (?:(\d{3}) )?`([a-z_-]+)` +\|/gm)
    return [...rows].map(([, own = status, reason = '']) => `${own} ${reason}`)
  })
}

/** Rows that no request through the Envoys of this test can cause, and the test that has each. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  '401 wrong-issuer': 'test/extauthz/token/claims.test.ts',
  '400 path-trick': 'test/extauthz/every-refusal-line.test.ts',
  '403 probe': 'test/mesh/controller.test.ts',
  '403 path-mismatch': 'test/extauthz/path-check.test.ts',
  '403 rule-budget': 'test/extauthz/rules.test.ts',
  '408 body-timeout': 'test/integration/unfinished-bodies.test.ts',
  '503 no-policy': 'test/integration/require-policy.test.ts',
  '503 key-not-looked-up': 'test/extauthz/token/fresh-keys.test.ts',
  '503 unknown-route': 'test/extauthz/unknown-routes.test.ts',
  '503 malformed-check': 'test/extauthz/unknown-routes.test.ts',
  '503 too-many-unfinished-messages': 'test/extauthz/check-service.test.ts',
  '503 body-not-sent': 'test/extauthz/every-refusal-line.test.ts',
  '503 body-too-large': 'test/integration/audit.test.ts',
  '503 too-many-bodies': 'test/extauthz/every-refusal-line.test.ts',
  '503 unavailable': 'test/extproc/refused-stream.test.ts',
  '503 deadline': 'test/extauthz/every-refusal-line.test.ts',
  '503 internal-error': 'test/extauthz/every-refusal-line.test.ts',
}

let backend: Backend
let stack: GuardedStack

beforeAll(async () => {
  backend = await startBackend()
  const nobody = await freePort()
  const jwtAuthentication = { providers: [provider([key], { audiences: ['api'] })] }
  stack = await startGuardedStack(
    [
      proxyBackend('backend', backend),
      proxyBackend('no-idp', { host: '127.0.0.1', port: nobody }),
      ...service('nobody', nobody),
      ...protectedRoute('api', { jwtAuthentication }),
      ...protectedRoute('deny', {
        authorization: { action: 'Deny', policy: { matchExpressions: ['true'] } },
      }),
      ...protectedRoute('require', {
        authorization: { action: 'Require', policy: { matchExpressions: ['false'] } },
      }),
      ...protectedRoute('allow', { authorization: allow('false') }),
      ...protectedRoute('scopes', {
        jwtAuthentication,
        authorization: { policy: { requiredScopes: [{ scopes: ['tools'] }] } },
      }),
      ...protectedRoute('tools', { authorization: allow('mcp.method == "ping"') }),
      mcpRoute('pages', 'backend', '/pages'),
      proxyPolicy('pages', 'pages', {
        jwtAuthentication: {
          ...jwtAuthentication,
          mcp: { clientId: 'app', allowedOrigins: ['https://app.example'] },
        },
      }),
      ...protectedRoute('sessions', {
        jwtAuthentication: { ...jwtAuthentication, mcp: { bindSession: true, clientId: 'app' } },
      }),
      ...protectedRoute('keyless', {
        jwtAuthentication: {
          providers: [{ issuer: ISSUER, jwks: remoteJwks('no-idp', nobody, '/keys') }],
        },
      }),
      httpRoute('broken', { rules: [rule('/broken', 'backend')] }),
      proxyPolicy('broken', 'broken', { authorization: allow('jwt.sub ==') }),
      ...guardedRoute('/prompts', { request: [hook('guard')] }),
      ...guardedRoute('/replies', { response: [hook('guard')] }),
      ...guardedRoute('/unguarded', { request: [hook('nobody')] }),
    ],
    {
      flags: [
        '--max-body-bytes',
        '64KiB',
        '--held-bytes',
        '1MiB',
        '--body-timeout',
        '3s',
        '--mcp-body-bytes',
        '16KiB',
      ],
    },
  )
})
afterAll(async () => {
  await stack.close()
  await backend.close()
})

const get = (path: string, request?: Request): Promise<Answer> => send(stack.origin, path, request)
const withToken = (path: string, token: string): Promise<Answer> =>
  get(path, { headers: bearer(token) })
const api = async (claims: object): Promise<Answer> =>
  withToken('/api', await sign(key, { aud: 'api', ...claims }))
const json = (path: string, body: string, headers: Record<string, string> = {}): Promise<Answer> =>
  get(path, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body })
const PING = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })

/** Opens a prompt that says it is this long, and sends so much of it. */
function begun(bytes: number): { readonly answer: Promise<Answer>; readonly leave: () => void } {
  const request = httpRequest(`${stack.origin}/prompts/v1/chat/completions`, {
    method: 'POST',
    agent: false,
    headers: { 'content-type': 'application/json' },
  })
  request.on('error', () => undefined)
  request.write(Buffer.alloc(bytes, ' '))
  const answer = new Promise<Answer>((taken) => {
    request.on('response', (response) => {
      const { statusCode: status = 0, headers, rawHeaders } = response
      let body = ''
      response.on('data', (text: Buffer) => (body += text.toString()))
      response.on('end', () => taken({ status, headers, rawHeaders, body }))
    })
  })
  return { answer, leave: () => request.destroy() }
}

/** Opens more prompts than fit. Returns an answer that is not summed up with others in the log. */
async function tooManyBegun(): Promise<Answer> {
  const all = Array.from({ length: 40 }, () => begun(60 * 1024))
  const answers: Answer[] = []
  for (const { answer } of all) void answer.then((one) => answers.push(one))
  const logged = await eventually(() => {
    const log = stack.log()
    const busy = answers.filter(({ status }) => status === 503)
    const found = busy.find(({ headers }) => log.includes(String(headers['x-request-id'])))
    expect(found).toBeDefined()
    return found as Answer
  })
  for (const { leave } of all) leave()
  return logged
}

const CASES: Readonly<Record<string, () => Promise<Answer>>> = {
  '400 not-a-message': () => json('/tools', '{"jsonrpc":"1.0"}'),
  '400 header-mismatch': () => json('/tools', PING, { 'mcp-method': 'tools/call' }),
  '400 guardrail_unreadable': () => stack.post('/prompts', '{"messages":'),
  '401 no-token': () => get('/api'),
  '401 malformed-header': () => get('/api', { headers: { authorization: 'Basic YTpi' } }),
  '401 malformed-token': () => withToken('/api', 'opaque'),
  '401 malformed-claims': () => api({ exp: 'soon' }),
  '401 wrong-type': async () =>
    withToken(
      '/api',
      await signToken({ key, header: { typ: 'logout+jwt' }, claims: { iss: ISSUER, aud: 'api' } }),
    ),
  '401 unknown-issuer': () => api({ iss: 'https://nobody.example' }),
  '401 wrong-audience': () => api({ aud: 'web' }),
  '401 expired': () => api({ exp: now() - 120 }),
  '401 not-yet-valid': () => api({ nbf: now() + 240 }),
  '401 no-expiry': () => api({ exp: undefined }),
  '401 unknown-key': async () => {
    const stranger = await newKey('three')
    return withToken('/api', await sign(stranger, { aud: 'api' }))
  },
  '401 bad-signature': async () => withToken('/api', await sign(forged, { aud: 'api' })),
  '403 denied-by-rule': () => get('/deny'),
  '403 rule-required': () => get('/require'),
  '403 no-rule-allows': () => get('/allow'),
  '403 insufficient-scope': async () =>
    withToken('/scopes', await sign(key, { aud: 'api', scope: 'read' })),
  '403 origin-not-allowed': () => get('/pages', { headers: { origin: 'https://evil.example' } }),
  '403 no-subject': async () =>
    withToken('/sessions', await sign(key, { aud: 'api', sub: undefined })),
  '404 unknown-session': async () =>
    get('/sessions', {
      headers: { ...bearer(await sign(key, { aud: 'api' })), 'mcp-session-id': 'of-somebody' },
    }),
  '403 content_filter': () => stack.post('/prompts', chat('block this')),
  '408 guardrail_body_timeout': () => begun(10).answer,
  '413 body-too-large': () => json('/tools', ' '.repeat(17 * 1024)),
  '413 guardrail_too_large': () => stack.post('/prompts', chat('x'.repeat(70_000))),
  '500 broken-policy': () => get('/broken'),
  '503 key-set-unavailable': async () => withToken('/keyless', await sign(key)),
  '503 guardrail_unavailable': () => stack.post('/unguarded', chat('hi')),
  '503 guardrail_unreadable': () => {
    stack.llm.answer(answerJson({ unheard: 'of' }))
    return stack.post('/replies', chat('hi'))
  },
  '503 guardrail_busy': tooManyBegun,
}

test('every row has a request here, or a test elsewhere that names its reason', () => {
  const rows = rowsOfPage()
  expect(rows.length).toBeGreaterThan(40)
  expect([...Object.keys(CASES), ...Object.keys(ELSEWHERE)].toSorted()).toEqual(rows.toSorted())
  for (const [row, path] of Object.entries(ELSEWHERE))
    expect(readFileSync(resolve(ROOT, path), 'utf8')).toContain(row.slice(4))
})

describe('a request of each row', () => {
  test.each(Object.keys(CASES))('%s', async (row) => {
    const [status, reason = ''] = row.split(' ')
    stack.reset()
    const answer = (await CASES[row]?.()) as Answer
    expect(String(answer.status), answer.body).toBe(status)
    const id = answer.headers['x-request-id']
    expect(id).toMatch(/^[\da-f-]{36}$/)
    // A reject has the line of its verdict.
    const expected = reason === 'content_filter' ? { outcome: 'reject' } : { reason }
    await eventually(() => {
      const lines = stack.log().split('\n')
      const own = lines.filter((line) => line.includes(String(id)) && line.includes('"decision":'))
      expect(own.map((line) => JSON.parse(line) as object)).toMatchObject([expected])
    })
  })
})

describe('what Envoy answers itself', () => {
  /** Number of checks so far: without one, there is no reason and no line. */
  const checks = async (): Promise<number> =>
    [...(await stack.metrics()).matchAll(/^gatehouse_checks_total\{.*\} (\d+)$/gm)].reduce(
      (sum, [, count]) => sum + Number(count),
      0,
    )

  test.each<[string, number, boolean, () => Promise<Answer>]>([
    ['an escaped slash', 400, false, () => get('/api/%2fx')],
    ['an escaped backslash', 400, false, () => get('/api/%5cx')],
    ['a path parameter', 400, true, () => get('/api/a;b')],
    ['an unknown path', 404, true, () => get('/nowhere')],
    ['large headers', 431, false, () => get('/api', { headers: { x: 'x'.repeat(70_000) } })],
  ])('%s: %i, with an id: %s', async (_, status, hasId, ask) => {
    const before = await checks()
    const answer = await ask()
    expect(answer.status).toBe(status)
    expect(answer.headers['x-request-id'] !== undefined).toBe(hasId)
    expect(await checks()).toBe(before)
  })
})

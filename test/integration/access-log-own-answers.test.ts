// Answers of Envoy itself, which have no line in the decision log: its access log tells them apart by flags and details.

import { once } from 'node:events'
import { connect } from 'node:http2'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { freePort } from '../../testing/ports.js'
import { type Backend, startBackend } from '../support/backend.js'
import { selfSigned } from '../support/certificates.js'
import { chat, guardedRoute, hook, service } from '../support/guardrails.js'
import { send } from '../support/http.js'
import { protectedRoute } from '../support/protected-stack.js'
import { allow, gateway, httpRoute, proxyBackend, rule } from '../support/resources.js'
import { type Stack, startStack } from '../support/stack.js'

const HOSTS = ['first.example', 'second.example'] as const
const pair = selfSigned(...HOSTS)

let backend: Backend
let stack: Stack
let securePort: number

const https = (hostname: string): object => ({
  name: hostname.replace('.', '-'),
  hostname,
  port: securePort,
  protocol: 'HTTPS',
  tls: { certificateRefs: [{ name: 'pair' }] },
})

beforeAll(async () => {
  const nobody = await freePort()
  securePort = await freePort()
  backend = await startBackend()
  stack = await startStack({
    own: true,
    resources: (port) => [
      {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 'pair' },
        stringData: { 'tls.crt': pair.cert, 'tls.key': pair.key },
      },
      gateway([{ name: 'http', port, protocol: 'HTTP' }, ...HOSTS.map(https)]),
      proxyBackend('backend', backend),
      proxyBackend('nobody', { host: '127.0.0.1', port: nobody }),
      ...protectedRoute('limited', { rateLimit: { local: [{ requests: 1, per: '1h' }] } }),
      ...protectedRoute('tools', { authorization: allow('mcp.method == "ping"') }),
      ...protectedRoute('ruled', { authorization: allow('request.method == "GET"') }),
      ...guardedRoute('/guarded', { request: [hook('guard')] }),
      ...service('guard', nobody),
      proxyBackend('llm', backend),
      httpRoute('nobody', { rules: [rule('/nobody', 'nobody')] }),
      httpRoute('nowhere', { rules: [rule('/nowhere', 'missing')] }),
    ],
    flags: ['--access-log', '--mcp-body-bytes', '1KiB'],
  })
})
afterAll(async () => {
  await stack.close()
  await backend.close()
})

/** The status of an answer to a request for the second host on a connection for the first. */
async function misdirected(): Promise<number> {
  const origin = `https://127.0.0.1:${String(securePort)}`
  const session = connect(origin, { servername: HOSTS[0], ca: pair.cert })
  try {
    const stream = session.request({ ':path': '/misdirected', ':authority': HOSTS[1] })
    const [headers] = (await once(stream, 'response')) as [{ readonly ':status': number }]
    return headers[':status']
  } finally {
    session.destroy()
  }
}

const LARGE = 'x'.repeat(61 * 1024)

test('tells apart what Envoy answers by itself', async () => {
  const get = async (path: string, request = {}): Promise<number> =>
    (await send(stack.origin, path, request)).status
  expect(await get('/limited')).toBe(200)
  expect([
    await get('/limited'),
    await misdirected(),
    await get('/headers', { headers: { 'x-large': LARGE } }),
    await get('/nobody'),
    await get('/unknown'),
    await get('/nowhere'),
    await get('/tools', { headers: { connection: 'Upgrade', upgrade: 'websocket' } }),
    await get('/ruled', { headers: { host: 'one.example,two.example' } }),
  ]).toEqual([429, 421, 431, 503, 404, 500, 426, 400])
  // Gatehouse does not answer.
  stack.child.kill('SIGSTOP')
  const frozen = [get('/ruled'), get('/guarded', { method: 'POST', body: chat('hi') })]
  const answers = await Promise.all(frozen).finally(() => stack.child.kill('SIGCONT'))
  expect(answers).toEqual([503, 503])
  await eventually(() => {
    const lines = stack
      .output()
      .split('\n')
      .filter((line) => line.includes('request_id'))
      .map((line) => JSON.parse(line) as Record<string, unknown>)
    const shown = lines.map(({ status, flags, details, reason }) => ({
      status,
      flags,
      details,
      reason,
    }))
    expect(shown).toEqual(
      expect.arrayContaining([
        { status: 200, flags: '-', details: 'via_upstream', reason: null },
        { status: 429, flags: 'RL', details: 'local_rate_limited', reason: null },
        { status: 421, flags: '-', details: 'direct_response', reason: null },
        { status: 431, flags: 'DPE', details: 'http1.headers_too_large', reason: null },
        {
          status: 503,
          flags: 'UF',
          details: expect.stringMatching(/^upstream_reset/) as string,
          reason: null,
        },
        { status: 426, flags: '-', details: 'upgrade_failed', reason: null },
        {
          status: 400,
          flags: '-',
          reason: null,
          details: 'rbac_access_denied_matched_policy[several-hosts]',
        },
        { status: 404, flags: 'NR', details: 'route_not_found', reason: null },
        { status: 503, flags: 'UAEX', details: 'ext_authz_error', reason: null },
        {
          status: 503,
          flags: '-',
          reason: null,
          details: expect.stringMatching(/^ext_proc_error/) as string,
        },
        { status: 500, flags: 'UH', details: 'no_healthy_upstream', reason: null },
      ]),
    )
  }, 30_000)
})

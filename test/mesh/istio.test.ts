// Gatehouse beside a real istiod: the mesh's own Gateway and routes, Gatehouse's policies, and the output of `translate
// --for istio`.

import { Agent, request as httpRequest } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startGuardrailWebhook } from '../../src/cli/demo/guardrail-webhook.js'
import { type LlmServer, startLlmServer } from '../../src/cli/demo/llm-server.js'
import { type McpServer, startMcpServer } from '../../src/cli/demo/mcp-server.js'
import type { Program } from '../../src/cli/demo/program.js'
import { ADDRESS } from '../../testing/api-server.js'
import { eventually } from '../../testing/eventually.js'
import { freePort } from '../../testing/ports.js'
import { type Backend, startBackend } from '../support/backend.js'
import { ClientFailure } from '../support/clients/client-run.js'
import { ts1 } from '../support/clients/ts1.js'
import { ts2 } from '../support/clients/ts2.js'
import { type Gatehouse, startGatehouse } from '../support/gatehouse.js'
import { answerJson, both, completion, hook, sample, service } from '../support/guardrails.js'
import { bearer, initialize, send } from '../support/http.js'
import { CLIENT_ID, idpOne, startTestIdp, type TestIdp } from '../support/identity-provider.js'
import { allow, proxyBackend, proxyPolicy, remoteJwks } from '../support/resources.js'
import { edge, hostOf, type Istio, PORT, route, serviceTo, startIstio } from './support/istio.js'
import { translateFor } from './support/translate.js'

const ORIGIN = `http://127.0.0.1:${PORT}`
const GRPC_PORT = 18_005
const CONNECT = `${hostOf('gatehouse')}:${String(GRPC_PORT)}`
const PRM = '/.well-known/oauth-protected-resource/mcp'

let server: McpServer
let slow: Backend
let llm: LlmServer
let webhook: Program
let idp: TestIdp
let mesh: Istio
let gatehouse: Gatehouse
/** The manifests that were exported and applied. */
let exported: string
const prompts: string[] = []

/** The LLM and the webhook of the route /team, which needs a token and is guarded. */
let team: Backend
let teamWebhook: Backend

const protectedBy = (name: string, authorization: object, more: object = {}): object =>
  proxyPolicy(name, name, {
    jwtAuthentication: {
      mode: 'Strict',
      providers: [
        {
          issuer: idp.issuer,
          audiences: [CLIENT_ID],
          jwks: remoteJwks('idp', idp.port, idp.jwksPath),
        },
      ],
      ...more,
    },
    authorization,
  })

const mcpPolicy = (name: string, authorization: object, more: object = {}): object =>
  protectedBy(name, authorization, {
    mcp: {
      provider: 'IdpOne',
      clientId: CLIENT_ID,
      metadataIssuer: 'Gateway',
      resourceMetadata: { resource: `${ORIGIN}/${name}` },
      ...more,
    },
  })

const guardedBy = (name: string, guard: object): object => ({
  apiVersion: 'policy.gatehouse.dev/v1alpha1',
  kind: 'ProxyPolicy',
  metadata: { name: `${name}-guard` },
  spec: {
    targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name }],
    backend: { ai: { promptGuard: both(guard) } },
  },
})

const policies = (webhookPort: number): readonly object[] => [
  proxyBackend('idp', idp),
  ...['mcp', 'slow'].map((name) => mcpPolicy(name, allow('"mcp-users" in jwt.groups'))),
  mcpPolicy(
    'tools',
    { action: 'Deny', policy: { matchExpressions: ['mcp.tool.name == "get-sum"'] } },
    { filterLists: true },
  ),
  protectedBy('team', allow('"mcp-users" in jwt.groups')),
  guardedBy('team', hook('team', { headers: { 'x-user': 'jwt.sub' } })),
  guardedBy('llm', hook('guardrail')),
  ...service('guardrail', webhookPort),
  ...service('team', teamWebhook.port),
]

beforeAll(async () => {
  const webhookPort = await freePort()
  ;[server, slow, team, teamWebhook, llm, webhook, idp, mesh] = await Promise.all([
    startMcpServer(),
    startBackend(),
    startBackend(),
    startBackend(),
    startLlmServer({ onPrompt: (prompt) => prompts.push(prompt) }),
    startGuardrailWebhook(webhookPort),
    startTestIdp(idpOne),
    startIstio(),
  ])
  teamWebhook.answer(sample)
  team.answer(answerJson(completion('A secret.')))
  const [mcpPort, slowPort, teamPort, llmPort] = await Promise.all([
    mesh.service('mcp-server', server.port),
    mesh.service('slow', slow.port),
    mesh.service('team-llm', team.port),
    mesh.service('llm', llm.port),
  ])
  const routes = [
    route('mcp', '/mcp', 'mcp-server', mcpPort),
    route('tools', '/tools', 'mcp-server', mcpPort, {
      name: 'tools',
      filters: [
        {
          type: 'URLRewrite',
          urlRewrite: { path: { type: 'ReplacePrefixMatch', replacePrefixMatch: '/mcp' } },
        },
      ],
    }),
    route('team', '/team', 'team-llm', teamPort),
    route('slow', '/slow', 'slow', slowPort),
    route('llm', '/v1', 'llm', llmPort),
    route('public', '/public', 'slow', slowPort),
  ]
  await mesh.api.apply(...serviceTo('gatehouse', GRPC_PORT, 'grpc'), ...routes)
  await eventually(async () => {
    expect((await send(ORIGIN, '/public')).status).toBe(200)
  }, 90_000)
  gatehouse = await startGatehouse({
    command: 'serve',
    resources: [edge, ...routes, ...policies(webhookPort)],
    flags: ['--for', 'istio', '--grpc', `${ADDRESS}:${String(GRPC_PORT)}`],
  })
  exported = await exportAll()
  await mesh.applyText(exported)
  await eventually(async () => {
    expect((await send(ORIGIN, '/mcp', initialize)).status).toBe(401)
    expect((await send(ORIGIN, PRM)).status).toBe(200)
    expect((await chat('Hello')).body).toContain('"choices"')
  }, 60_000)
}, 300_000)

afterAll(async () => {
  await gatehouse.close()
  await mesh.close()
  await Promise.all(
    [server, slow, team, teamWebhook, llm, webhook, idp].map((party) => party.close()),
  )
})

const exportAll = (): Promise<string> =>
  translateFor('istio', gatehouse.folder, '--connect', CONNECT)

const chat = (
  content: string,
  { stream = false, path = '/v1/chat/completions', headers = {} } = {},
) =>
  send(ORIGIN, path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model: 'sample', stream, messages: [{ role: 'user', content }] }),
  })

describe('an MCP route', () => {
  test.each([
    ['TypeScript 1', ts1],
    ['TypeScript 2', ts2],
  ])('the official client (%s) logs in and calls a tool', async (_, client) => {
    const run = await client(`${ORIGIN}/mcp`, 'alice')
    expect(run.echo).toBe('Echo: hi')
  })

  test('a person outside of the group is refused', async () => {
    await expect(ts1(`${ORIGIN}/mcp`, 'bob')).rejects.toBeInstanceOf(ClientFailure)
    const token = await idp.token('bob', `${ORIGIN}/mcp`)
    const answer = await send(ORIGIN, '/mcp', { ...initialize, headers: bearer(token) })
    expect(answer.status).toBe(403)
  })

  test('a caller without a token gets the challenge, and a page may read it', async () => {
    const answer = await send(ORIGIN, '/mcp', {
      ...initialize,
      headers: { origin: 'https://app.example' },
    })
    expect(answer.status).toBe(401)
    expect(answer.headers['www-authenticate']).toBe(`Bearer resource_metadata="${ORIGIN}${PRM}"`)
    expect(answer.headers['access-control-allow-origin']).toBe('https://app.example')
    expect(answer.headers['access-control-expose-headers']).toContain('WWW-Authenticate')
  })

  test('a preflight needs no token', async () => {
    const preflight = {
      method: 'OPTIONS',
      headers: { origin: 'https://app.example', 'access-control-request-method': 'POST' },
    }
    for (const path of ['/mcp', PRM]) expect((await send(ORIGIN, path, preflight)).status).toBe(200)
  })

  test('the documents are served to pages', async () => {
    const answer = await send(ORIGIN, PRM, { headers: { origin: 'https://app.example' } })
    expect(answer.status).toBe(200)
    expect(answer.headers['access-control-allow-origin']).toBe('https://app.example')
    expect(JSON.parse(answer.body)).toMatchObject({ resource: `${ORIGIN}/mcp` })
  })

  test('a path with an escaped slash is refused', async () => {
    expect((await send(ORIGIN, '/public%2f..%2fmcp', initialize)).status).toBe(400)
  })

  test('a stream of events lasts longer than the 15 s that a mesh gives a reply', async () => {
    slow.answer((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('data: first\n\n')
      setTimeout(() => response.end('data: last\n\n'), 18_000)
    })
    const token = await idp.token('alice', `${ORIGIN}/slow`)
    const answer = await send(ORIGIN, '/slow', { headers: bearer(token) })
    expect(answer.body).toBe('data: first\n\ndata: last\n\n')
  })
})

describe('an MCP route whose rules read calls', () => {
  test('a list lacks the tool that the rules deny, and other tools can be called', async () => {
    const run = await ts1(`${ORIGIN}/tools`, 'alice')
    expect(run.tools).toContain('echo')
    expect(run.tools).not.toContain('get-sum')
    expect(run.echo).toBe('Echo: hi')
  })

  const call = (name: string, args: object) => ({
    method: 'POST',
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name, arguments: args },
    }),
  })
  const headersOf = async () => ({
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...bearer(await idp.token('alice', `${ORIGIN}/tools`)),
  })

  test('a call of that tool is refused', async () => {
    const answer = await send(ORIGIN, '/tools', {
      ...call('get-sum', { a: 1, b: 2 }),
      headers: await headersOf(),
    })
    expect(answer.status).toBe(403)
  })

  test('an upgrade, whose check would have no body, is refused', async () => {
    const upgrade = { connection: 'upgrade', upgrade: 'websocket' }
    const headers = { ...(await headersOf()), ...upgrade }
    const echo = call('echo', { message: 'hi' })
    expect((await send(ORIGIN, '/tools', { ...echo, headers })).status).toBe(403)
  })
})

describe('a guarded route that needs a token', () => {
  test('the webhook gets a claim of it, and masks the reply', async () => {
    const token = await idp.token('alice', `${ORIGIN}/team`)
    const answer = await chat('Hello', { path: '/team', headers: bearer(token) })
    expect(answer.status).toBe(200)
    expect(answer.body).toContain('A ****.')
    const { sub } = JSON.parse(atob(token.split('.')[1] ?? '')) as { sub: string }
    expect(teamWebhook.requests.map(({ headers }) => headers['x-user'])).toEqual([sub, sub])
  })

  test('without a token no webhook is asked', async () => {
    teamWebhook.requests.length = 0
    expect((await chat('Hello', { path: '/team' })).status).toBe(401)
    expect(teamWebhook.requests).toEqual([])
  })
})

describe('a guarded route', () => {
  test('the webhook masks a prompt and its reply, and blocks another prompt', async () => {
    prompts.length = 0
    const masked = await chat('I am bob@example.com.')
    expect(masked.status).toBe(200)
    expect(masked.body).not.toContain('@example.com')
    expect(prompts).toHaveLength(1)
    expect(prompts[0]).not.toContain('bob@example.com')
    expect((await chat('The password is swordfish.')).status).toBe(403)
    expect(prompts).toHaveLength(1)
  })

  test('a streamed reply is masked too', async () => {
    const streamed = await chat('I am bob@example.com.', { stream: true })
    expect(streamed.headers['content-type']).toContain('text/event-stream')
    expect(streamed.body).toContain('data: [DONE]')
    expect(streamed.body).not.toContain('@example.com')
  })
})

test('every answer of Gatehouse has a request id, by which its line is found', async () => {
  const answers = [
    await send(ORIGIN, '/mcp', { ...initialize, headers: { authorization: 'Basic YTpi' } }),
    await send(ORIGIN, PRM, { method: 'PUT' }),
    await send(ORIGIN, '/v1/chat/completions', { method: 'POST', body: '{' }),
  ]
  expect(answers.map(({ status }) => status)).toEqual([401, 405, 400])
  for (const { headers, rawHeaders } of answers) {
    const names = rawHeaders.filter((name) => name.toLowerCase() === 'x-request-id')
    expect(names).toHaveLength(1)
    const id = String(headers['x-request-id'])
    await eventually(() => expect(gatehouse.log()).toContain(`"requestId":"${id}"`))
  }
})

test('8,000 requests for a document over kept connections: none is 503', async () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 40 })
  const statuses = await Promise.all(Array.from({ length: 8_000 }, () => documentStatus(agent)))
  agent.destroy()
  expect(statuses.filter((status) => status !== 200)).toEqual([])
})

const documentStatus = (agent: Agent): Promise<number> =>
  new Promise((resolve, reject) => {
    const outgoing = httpRequest(`${ORIGIN}${PRM}`, { agent }, (incoming) => {
      incoming.resume().on('end', () => resolve(incoming.statusCode ?? 0))
    })
    outgoing.on('error', reject).end()
  })

test('without Gatehouse its routes answer 503, and others go on', async () => {
  const token = await idp.token('alice', `${ORIGIN}/mcp`)
  await gatehouse.stop('SIGKILL')
  const answer = await send(ORIGIN, '/mcp', { ...initialize, headers: bearer(token) })
  expect(answer.status).toBe(503)
  expect((await send(ORIGIN, PRM)).status).toBe(503)
  expect((await chat('Hello')).status).toBe(503)
  slow.answer((_request, response) => response.end('public'))
  expect(await send(ORIGIN, '/public')).toMatchObject({ status: 200, body: 'public' })
})

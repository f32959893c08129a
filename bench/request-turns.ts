// Measures how long one hostile or large request blocks Gatehouse behind an Envoy: bodies, replies, tokens, headers and
// rules of the kinds that would take longest.

import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SignJWT } from 'jose'
import { runArguments } from './gatehouse.js'
import { backend, gatewayAt, OURS, policy, route } from './objects.js'
import { freePorts, type Party, run, stop, until } from './processes.js'
import { ISSUER, newKeys } from './tokens.js'

const MIB = 1024 ** 2
/** Requests of each kind, one after the other and then at once. */
const TIMES = 8

/** Writes down the longest stretch since the last call. */
export type Note = (party: Party, what: string) => Promise<void>

interface Sent {
  readonly what: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

const chat = (messages: readonly object[]): string => JSON.stringify({ model: 'm', messages })
const said = (content: string): object => ({ role: 'user', content })

/** What is sent; token: has 400 groups. */
const requestsWith = (token: string): readonly Sent[] => [
  { what: 'a plain chat', path: '/llm', body: chat([said('hello')]) },
  { what: 'a prompt of 9 MiB', path: '/llm', body: chat([said('word '.repeat((9 * MIB) / 5))]) },
  {
    what: '20,000 messages',
    path: '/llm',
    body: chat(Array.from({ length: 20_000 }, () => said('hello'))),
  },
  {
    what: '10 MiB of empty objects',
    path: '/llm',
    body: `{"messages":[${'{},'.repeat((9 * MIB) / 3)}{}]}`,
  },
  {
    what: 'a body nested 100,000 deep',
    path: '/llm',
    body: `{"messages":${'['.repeat(100_000)}${']'.repeat(100_000)}}`,
  },
  { what: 'a reply of 9 MiB', path: '/llm', body: chat([said('long')]) },
  {
    what: 'a content type of 50,000 blanks',
    path: '/llm',
    headers: { 'content-type': `application/json${' '.repeat(50_000)}x` },
    body: chat([said('hello')]),
  },
  { what: 'a token with 400 groups', path: '/cheap', headers: bearer(token) },
  {
    what: 'a token of 50,000 characters',
    path: '/cheap',
    headers: bearer(`${'a'.repeat(25_000)}.${'b'.repeat(25_000)}.c`),
  },
  { what: 'rules of three loops over 400 groups', path: '/costly', headers: bearer(token) },
]

const bearer = (token: string): Readonly<Record<string, string>> => ({
  authorization: `Bearer ${token}`,
})

const LOOPS = 'jwt.groups.all(a, jwt.groups.all(b, jwt.groups.all(c, a + b + c != "")))'

/** Starts `gatehouse run` with the probe, sends requests of each kind, and calls note after each kind. */
export async function measureRequests(probe: string, note: Note): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-bench-'))
  const keys = await newKeys()
  const servers = await Promise.all([startLlm(), startWebhook()])
  const [llm, webhook] = servers.map(portOf)
  const { port, admin } = await freePorts(['port', 'admin'])
  const token = await new SignJWT({
    groups: [...Array(400).keys()].map((n) => `group-${String(n)}`),
  })
    .setProtectedHeader({ alg: keys.alg, kid: 'k1' })
    .setIssuer(ISSUER)
    .setExpirationTime('1h')
    .sign(keys.privateKey)
  const resources = join(folder, 'resources.json')
  const items = objectsOf({ port, llm, webhook, jwks: JSON.stringify(keys.jwks) })
  await writeFile(resources, JSON.stringify({ kind: 'List', apiVersion: 'v1', items }))
  const program = await runArguments(resources, `127.0.0.1:${String(admin)}`)
  const gatehouse = run(process.execPath, ['--import', probe, ...program], 'pipe')
  gatehouse.child.stderr?.resume()
  try {
    await until(`http://127.0.0.1:${String(admin)}/readyz`, 60_000)
    await note(gatehouse, '')
    for (const each of requestsWith(token)) {
      for (let time = 0; time < TIMES; time += 1) await send(port, each)
      await Promise.all(Array.from({ length: TIMES }, () => send(port, each)))
      await note(gatehouse, each.what)
    }
  } finally {
    await stop([gatehouse])
    for (const server of servers) {
      server.close()
      server.closeAllConnections()
    }
    await rm(folder, { recursive: true })
  }
}

interface Ports {
  readonly port: number
  readonly llm: number | undefined
  readonly webhook: number | undefined
  readonly jwks: string
}

function objectsOf({ port, llm = 0, webhook = 0, jwks }: Ports): readonly object[] {
  const hook = { webhook: { backendRef: { group: OURS, kind: 'ProxyBackend', name: 'webhook' } } }
  const jwtAuthentication = { providers: [{ issuer: ISSUER, jwks: { inline: jwks } }] }
  const ruled = (name: string, expression: string): readonly object[] => [
    route(name),
    backend(name, llm),
    policy(name, {
      traffic: { jwtAuthentication, authorization: { policy: { matchExpressions: [expression] } } },
    }),
  ]
  return [
    gatewayAt(port),
    backend('webhook', webhook),
    route('llm'),
    backend('llm', llm),
    policy('llm', { backend: { ai: { promptGuard: { request: [hook], response: [hook] } } } }),
    ...ruled('cheap', '"group-1" in jwt.groups'),
    ...ruled('costly', LOOPS),
  ]
}

async function send(port: number, { path, headers = {}, body = '' }: Sent): Promise<void> {
  const sent = request({
    host: '127.0.0.1',
    port,
    path,
    method: body === '' ? 'GET' : 'POST',
    agent: false,
    headers: { 'content-type': 'application/json', ...headers },
  })
  // Envoy may refuse a request before it has read all of it.
  const answered = new Promise<void>((resolve) => {
    sent.once('error', () => resolve())
    sent.once('response', (response: IncomingMessage) => {
      response.resume().once('close', resolve)
    })
  })
  sent.end(body)
  await answered
}

const startLlm = (): Promise<Server> =>
  startServer((asked) => {
    const content = asked.includes('"long"') ? 'word '.repeat((9 * MIB) / 5) : 'Fine words.'
    return JSON.stringify({
      id: 'chatcmpl-1',
      object: 'chat.completion',
      created: 1,
      model: 'm',
      choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
    })
  })

const startWebhook = (): Promise<Server> => startServer(() => '{"action":{}}')

/** @param answerTo gets the first 200 characters of the request's body. */
async function startServer(answerTo: (asked: string) => string): Promise<Server> {
  const server = createServer((asked, response) => {
    let start = ''
    asked.on('data', (part: Buffer) => {
      if (start.length < 200) start += part.toString('latin1', 0, 200)
    })
    asked.on('end', () => {
      response.setHeader('content-type', 'application/json')
      response.end(answerTo(start))
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return server
}

const portOf = (server: Server): number => (server.address() as AddressInfo).port

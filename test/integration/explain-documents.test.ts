// `gatehouse explain` on the well-known paths of MCP routes agrees with Envoy: status, reason, headers and body, for each
// document, each endpoint of a relay and each method.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Explanation } from '../../src/ops/explain/explanation.js'
import { eventually } from '../../testing/eventually.js'
import { explain } from '../support/explain-command.js'
import { type Answer, send } from '../support/http.js'
import { CLIENT_ID, idpOne, startTestIdp, type TestIdp } from '../support/identity-provider.js'
import { AS, CALLBACK, type RelayStack, startRelayStack } from '../support/relay-stack.js'
import { mcpRoute, proxyBackend, proxyPolicy, remoteJwks } from '../support/resources.js'

const PRM = '/.well-known/oauth-protected-resource/mcp'
const REGISTRATION = `${AS}/client-registration`
/** Headers of which both answers have the same values. */
const HEADERS = [
  'content-type',
  'cache-control',
  'allow',
  'retry-after',
  'x-content-type-options',
] as const

let unavailable: TestIdp
let provider: TestIdp
let world: RelayStack
let folder: string
let files = 0

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'explain-documents-'))
  unavailable = await startTestIdp(idpOne)
  unavailable.intercept((_, response) => {
    response.writeHead(503).end()
    return true
  })
  provider = await startTestIdp(idpOne)
  world = await startRelayStack({
    flags: ['--access-log'],
    more: [
      proxyBackend('unavailable', unavailable),
      proxyBackend('provider', provider),
      ...direct('ready', 'provider', provider, { clientId: CLIENT_ID }),
      ...direct('unready', 'unavailable', unavailable, { clientId: CLIENT_ID }),
    ],
  })
})
afterAll(async () => {
  await world.close()
  await Promise.all([unavailable.close(), provider.close()])
  await rm(folder, { recursive: true, force: true })
})

/** A route NAME.example whose clients use the provider themselves. */
const direct = (name: string, backend: string, idp: TestIdp, mcp: object): readonly object[] => [
  mcpRoute(name, 'everything', '/mcp', { hostnames: [`${name}.example`] }),
  proxyPolicy(name, name, {
    jwtAuthentication: {
      providers: [
        {
          issuer: idp.issuer,
          audiences: [CLIENT_ID],
          jwks: remoteJwks(backend, idp.port, '/keys'),
        },
      ],
      mcp: { provider: 'IdpOne', ...mcp },
    },
  }),
]

interface Asked {
  readonly method: string
  /** Absent: the relay's. */
  readonly host?: string
  readonly path: string
  readonly type?: string
  readonly body?: string
}

interface Seen {
  readonly status: number
  readonly reason: string | null
  readonly headers: object
  /** Absent: it is not explained. */
  readonly body?: string
}

/** The header of the request's id by which a line of the access log is found. */
const idOf = ({ headers }: Answer): string => String(headers['x-request-id'])

async function sent({ method, host, path, type, body }: Asked): Promise<Answer> {
  return send(world.stack.origin, path, {
    method,
    headers: {
      ...(host !== undefined && { host }),
      ...(type !== undefined && { 'content-type': type }),
    },
    ...(body !== undefined && { body }),
  })
}

async function explained({ method, host, path, type, body }: Asked, from: readonly string[]) {
  const { stack } = world
  const url = `http://${host ?? new URL(stack.origin).host}${path}`
  const file = join(folder, String((files += 1)))
  if (body !== undefined) await writeFile(file, body)
  return explain([
    ...from,
    '--listener-port',
    String(stack.port),
    '--request',
    `${method} ${url}`,
    ...(type === undefined ? [] : ['--header', `Content-Type: ${type}`]),
    ...(body === undefined ? [] : ['--body', file]),
  ])
}

const FORM = 'application/x-www-form-urlencoded'
const JSON_TYPE = 'application/json'
const CLIENT = '{"client_name":"c","redirect_uris":["http://127.0.0.1/cb"]}'

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS']
const everyMethod = (path: string, host?: string): readonly Asked[] =>
  methods.map((method) => ({ method, path, ...(host !== undefined && { host }) }))

const paths = [PRM, AS, REGISTRATION, `${AS}/authorize`, CALLBACK, `${AS}/token`, `${AS}/none`]

const all: readonly Asked[] = [
  ...paths.flatMap((path) => everyMethod(path)),
  ...paths.slice(0, 3).flatMap((path) => everyMethod(path, 'unready.example')),
  { method: 'GET', path: `${PRM}?x=1` },
  { method: 'GET', path: `${PRM}/` },
  { method: 'PUT', path: PRM, body: 'x' },
  { method: 'POST', path: REGISTRATION, type: JSON_TYPE, body: CLIENT },
  { method: 'POST', path: REGISTRATION, type: JSON_TYPE, body: '{' },
  { method: 'POST', path: REGISTRATION, type: JSON_TYPE, body: `"${'x'.repeat(65 * 1024)}"` },
  { method: 'POST', path: REGISTRATION, host: 'unready.example', type: JSON_TYPE, body: CLIENT },
  { method: 'POST', path: REGISTRATION, host: 'unready.example', type: JSON_TYPE, body: '[]' },
  { method: 'POST', path: `${AS}/token`, type: FORM, body: 'grant_type=authorization_code&code=x' },
  { method: 'POST', path: `${AS}/token`, type: FORM, body: 'grant_type=password' },
  { method: 'GET', path: `${AS}/authorize?client_id=nobody` },
  { method: 'GET', path: `${CALLBACK}?state=x&code=y` },
]

test('every document and endpoint, with every method', async () => {
  const answers: { readonly asked: Asked; readonly envoy: Answer; readonly own: Explanation }[] = []
  const running = ['--admin', new URL(world.stack.admin).host]
  for (const asked of all)
    answers.push({ asked, envoy: await sent(asked), own: await explained(asked, running) })
  const reasons = await eventually(() => {
    const logged = reasonsById()
    if (answers.some(({ envoy }) => !logged.has(idOf(envoy)))) throw new Error('a line is missing')
    return logged
  }, 60_000)
  const about = ({ method, host, path, body }: Asked, index: number): string =>
    `${String(index)} ${method} ${host ?? ''}${path} ${(body ?? '').slice(0, 40)}`
  const own = answers.map(({ asked, own: { answer } }, index) => {
    const headers = new Map(answer.headers ?? [])
    const seen: Seen = {
      status: answer.status ?? 0,
      reason: answer.reason ?? null,
      headers: Object.fromEntries(HEADERS.map((name) => [name, headers.get(name)])),
      ...(answer.body !== undefined && { body: plain(answer.body) }),
    }
    return [about(asked, index), seen]
  })
  const envoys = answers.map(({ asked, envoy, own: { answer } }, index) => {
    const seen: Seen = {
      status: envoy.status,
      reason: reasons.get(idOf(envoy)) ?? null,
      headers: Object.fromEntries(HEADERS.map((name) => [name, envoy.headers[name]])),
      ...(answer.body !== undefined && { body: plain(envoy.body) }),
    }
    return [about(asked, index), seen]
  })
  expect(Object.fromEntries(own)).toEqual(Object.fromEntries(envoys))
  const registered = answers.find(
    ({ asked, envoy }) => asked.path === REGISTRATION && envoy.status === 201,
  )
  expect(JSON.stringify(registered?.own)).not.toContain('client_id')
  for (const { own } of answers)
    expect(own.changes.length > 0).toBe(own.answer.status === undefined || own.answer.status >= 400)
})

test('from files, the provider is asked only with --fetch', async () => {
  const asked = { method: 'GET', host: 'ready.example', path: AS }
  const files = ['--resources', world.stack.folder]
  const unasked = await explained(asked, files)
  expect([unasked.answer.status, unasked.changes.join()]).toEqual([
    undefined,
    expect.stringContaining('--fetch'),
  ])
  const fetched = await explained(asked, [...files, '--fetch'])
  expect(fetched.answer.status).toBe(200)
  expect(JSON.parse(fetched.answer.body ?? '')).toEqual(JSON.parse((await sent(asked)).body))
})

/** The time of a registration differs between two answers. */
const plain = (body: string): string => body.replace(/"client_id_issued_at":\d+/, '')

function reasonsById(): ReadonlyMap<string, string | null> {
  const lines = world.stack
    .output()
    .split('\n')
    .filter((line) => line.startsWith('{') && line.endsWith('}'))
    .map((line) => JSON.parse(line) as { request_id: string; reason: string | null })
  return new Map(lines.map(({ request_id, reason }) => [request_id, reason]))
}

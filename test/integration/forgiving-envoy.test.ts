// An Envoy of somebody's own that forgives errors of its filters (failure_mode_allow): what Gatehouse refuses stays refused,
// because it answers with a refusal and never with an error in its place.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { freePort } from '../../testing/ports.js'
import { type Backend, startBackend } from '../support/backend.js'
import { envoyPath } from '../support/envoy.js'
import { type Gatehouse, startGatehouse } from '../support/gatehouse.js'
import {
  answerJson,
  both,
  chat,
  completion,
  guardedRoute,
  hook,
  sample,
  service,
} from '../support/guardrails.js'
import { type Answer, send } from '../support/http.js'
import { gateway, proxyBackend, proxyPolicy } from '../support/resources.js'

const PREFIX = 'type.googleapis.com/envoy.extensions.filters.http'
const GUARDED = 'default/guarded/0'

const FULL_DUPLEX = {
  request_header_mode: 'SEND',
  request_body_mode: 'FULL_DUPLEX_STREAMED',
  request_trailer_mode: 'SEND',
  response_header_mode: 'SEND',
  response_body_mode: 'FULL_DUPLEX_STREAMED',
  response_trailer_mode: 'SEND',
}
const BUFFERED = { request_body_mode: 'BUFFERED', request_trailer_mode: 'SKIP' }

/** Modes of ext_proc by the path of a route, and the key that it names. */
const PROCESSED: Readonly<Record<string, readonly [mode: object, key: string | undefined]>> = {
  '/right': [FULL_DUPLEX, GUARDED],
  '/prompts-buffered': [{ ...FULL_DUPLEX, ...BUFFERED }, GUARDED],
  '/replies-buffered': [
    { ...FULL_DUPLEX, response_body_mode: 'BUFFERED', response_trailer_mode: 'SKIP' },
    GUARDED,
  ],
  '/replies-alone': [
    { response_header_mode: 'SEND', response_body_mode: 'BUFFERED', request_header_mode: 'SKIP' },
    GUARDED,
  ],
  '/unknown': [FULL_DUPLEX, 'default/unknown/0'],
  '/nameless': [FULL_DUPLEX, undefined],
}
/** What ext_authz is told of a route by its path. */
const CHECKED: Readonly<Record<string, string>> = {
  '/checked-unknown': 'default/unknown/0',
  '/checked': 'default/checked/0',
}
/** More than a message of gRPC may have. */
const MANY_BYTES = 34 * 1024 * 1024

let llm: Backend
let webhook: Backend
let gatehouse: Gatehouse
let envoy: ChildProcess
let folder: string
let origin: string

const cluster = (name: string, port: number, isHttp2 = false): object => ({
  name,
  connect_timeout: '1s',
  ...(isHttp2 && {
    typed_extension_protocol_options: {
      'envoy.extensions.upstreams.http.v3.HttpProtocolOptions': {
        '@type': 'type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions',
        explicit_http_config: { http2_protocol_options: {} },
      },
    },
  }),
  load_assignment: {
    cluster_name: name,
    endpoints: [
      {
        lb_endpoints: [
          {
            endpoint: {
              address: { socket_address: { address: '127.0.0.1', port_value: port } },
            },
          },
        ],
      },
    ],
  },
})

const perRoute = (filter: 'authz' | 'proc', fields: object): object => ({
  [`envoy.filters.http.ext_${filter}`]: {
    '@type': `${PREFIX}.ext_${filter}.v3.${filter === 'authz' ? 'ExtAuthz' : 'ExtProc'}PerRoute`,
    ...fields,
  },
})

const route = (path: string, filters: object): object => ({
  match: { path_separated_prefix: path },
  route: { cluster: 'llm' },
  typed_per_filter_config: filters,
})

const ROUTES: readonly object[] = [
  ...Object.entries(PROCESSED).map(([path, [processing_mode, value]]) =>
    route(path, {
      ...perRoute('authz', { disabled: true }),
      ...perRoute('proc', {
        overrides: {
          processing_mode,
          ...(value !== undefined && {
            grpc_initial_metadata: [{ key: 'x-gatehouse-route', value }],
          }),
        },
      }),
    }),
  ),
  ...Object.entries(CHECKED).map(([path, key]) =>
    route(path, {
      ...perRoute('proc', { disabled: true }),
      ...perRoute('authz', { check_settings: { context_extensions: { 'gatehouse.route': key } } }),
    }),
  ),
]

function configuration(port: number, grpc: number): object {
  const grpc_service = { envoy_grpc: { cluster_name: 'gatehouse' }, timeout: '10s' }
  const manager = {
    '@type':
      'type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager',
    stat_prefix: 'main',
    http_filters: [
      {
        name: 'envoy.filters.http.ext_authz',
        typed_config: {
          '@type': `${PREFIX}.ext_authz.v3.ExtAuthz`,
          grpc_service,
          transport_api_version: 'V3',
          failure_mode_allow: true,
          with_request_body: { max_request_bytes: 2 * MANY_BYTES, pack_as_bytes: true },
        },
      },
      {
        name: 'envoy.filters.http.ext_proc',
        typed_config: {
          '@type': `${PREFIX}.ext_proc.v3.ExternalProcessor`,
          grpc_service,
          failure_mode_allow: true,
          allow_content_length_header: true,
          message_timeout: '10s',
        },
      },
      {
        name: 'envoy.filters.http.router',
        typed_config: { '@type': `${PREFIX}.router.v3.Router` },
      },
    ],
    route_config: { virtual_hosts: [{ name: 'all', domains: ['*'], routes: ROUTES }] },
  }
  const filters = [{ name: 'envoy.filters.network.http_connection_manager', typed_config: manager }]
  const socket_address = { address: '127.0.0.1', port_value: port }
  return {
    static_resources: {
      listeners: [{ name: 'main', address: { socket_address }, filter_chains: [{ filters }] }],
      clusters: [cluster('llm', llm.port), cluster('gatehouse', grpc, true)],
    },
  }
}

const post = (path: string, body = chat('hello')): Promise<Answer> =>
  send(origin, path, { method: 'POST', headers: { 'content-type': 'application/json' }, body })

beforeAll(async () => {
  llm = await startBackend()
  llm.answer(answerJson(completion('a secret of the LLM')))
  webhook = await startBackend()
  const [grpc, port] = [await freePort(), await freePort()]
  gatehouse = await startGatehouse({
    command: 'serve',
    flags: ['--grpc', `127.0.0.1:${String(grpc)}`],
    resources: [
      gateway([8080]),
      proxyBackend('llm', llm),
      ...service('guard', webhook.port),
      ...guardedRoute('/guarded', both(hook('guard'))),
      ...guardedRoute('/checked', both(hook('guard'))),
      proxyPolicy('rules', 'checked', {
        authorization: { action: 'Deny', policy: { matchExpressions: ['mcp.tool.name == "x"'] } },
      }),
    ],
  })
  folder = await mkdtemp(join(tmpdir(), 'gatehouse-forgiving-'))
  const file = join(folder, 'envoy.json')
  await writeFile(file, JSON.stringify(configuration(port, grpc)))
  const args = ['-c', file, '--use-dynamic-base-id', '--concurrency', '1', '-l', 'error']
  envoy = spawn(envoyPath(), args, { stdio: ['ignore', 'ignore', 'inherit'] })
  origin = `http://127.0.0.1:${String(port)}`
  webhook.answer(sample)
  await eventually(async () => expect((await post('/right')).status).toBe(200), 30_000)
})

afterAll(async () => {
  const ended = once(envoy, 'exit')
  envoy.kill('SIGKILL')
  await ended
  await gatehouse.close()
  await Promise.all([llm.close(), webhook.close(), rm(folder, { recursive: true })])
})

beforeEach(() => {
  llm.requests.length = 0
  webhook.requests.length = 0
})

test('the right modes are guarded', async () => {
  const answer = await post('/right')
  expect(answer.body).toContain('a **** of the LLM')
  expect(webhook.requests).toHaveLength(2)
})

test.each(['/prompts-buffered', '/replies-buffered', '/unknown', '/nameless'])(
  '%s: 503, and the LLM gets nothing',
  async (path) => {
    const answer = await post(path)
    expect([answer.status, answer.headers['retry-after']]).toEqual([503, '1'])
    expect(llm.requests).toEqual([])
    expect(webhook.requests).toEqual([])
  },
)

test('/replies-alone: 503, and nothing of the reply', async () => {
  const answer = await post('/replies-alone')
  expect(answer.status).toBe(503)
  expect(answer.body).not.toContain('secret')
})

test('/checked-unknown: 503, and the LLM gets nothing', async () => {
  expect((await post('/checked-unknown')).status).toBe(503)
  expect(llm.requests).toEqual([])
})

test('a check of more bytes than a message may have: 503, and the LLM gets nothing', async () => {
  const answer = await post('/checked', chat('x'.repeat(MANY_BYTES)))
  expect(answer.status).toBe(503)
  expect(llm.requests).toEqual([])
})

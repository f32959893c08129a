// Gatehouse with a user-configured Envoy and config/demo on free ports: with config/compose/envoy.yaml, and with the
// output of `gatehouse translate --for envoy` added to an Envoy's configuration.

import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse, parseAllDocuments, stringify } from 'yaml'
import { startGuardrailWebhook } from '../../src/cli/demo/guardrail-webhook.js'
import { type LlmServer, startLlmServer } from '../../src/cli/demo/llm-server.js'
import type { Program } from '../../src/cli/demo/program.js'
import { eventually } from '../../testing/eventually.js'
import { freePort } from '../../testing/ports.js'
import { MAIN } from '../../testing/program.js'
import { type Backend, startBackend } from '../support/backend.js'
import { type DocumentServer, startDocumentServer } from '../support/document-server.js'
import { envoyPath } from '../support/envoy.js'
import { type Gatehouse, startGatehouse } from '../support/gatehouse.js'
import { bearer, initialize, send } from '../support/http.js'
import { keySet, newKey, type SigningKey, signToken } from '../support/tokens.js'

const CONFIG = resolve(import.meta.dirname, '../../config')

let backend: Backend
let llm: LlmServer
const prompts: string[] = []
let webhook: Program
let idp: DocumentServer
let key: SigningKey
let gatehouse: Gatehouse
let envoy: ChildProcess
let folder: string
let origin: string

/** The ports that the files name → the ones of this test. */
let ports: ReadonlyMap<number, number>

const withPorts = (text: string): string =>
  text.replace(/\b(8080|9000|3001|4000|8000|18000|19000)\b/g, (port) =>
    String(ports.get(Number(port))),
  )

async function demoResources(): Promise<object[]> {
  const names = (await readdir(join(CONFIG, 'demo'))).sort()
  const texts = await Promise.all(names.map((name) => readFile(join(CONFIG, 'demo', name), 'utf8')))
  return texts.flatMap((text) =>
    parseAllDocuments(withPorts(text)).map((document) => document.toJS() as object),
  )
}

const issuer = (): string => `${idp.origin}/application/o/mcp/`

/** Whose Envoy it is, and how Gatehouse came into its configuration. */
const CONFIGURATIONS = {
  'config/compose/envoy.yaml': async () =>
    withPorts(await readFile(join(CONFIG, 'compose/envoy.yaml'), 'utf8')),
  'what translate --for envoy prints, in an Envoy of their own': async () => {
    const resources = join(gatehouse.folder, 'resources.yaml')
    const connect = `127.0.0.1:${String(ports.get(18000))}`
    const args = [MAIN, 'translate', '--for', 'envoy', resources, '--connect', connect]
    const { stdout } = await promisify(execFile)(process.execPath, args)
    return stringify(withFragment(parse(stdout) as Fragment))
  },
}

interface Fragment {
  readonly listeners: readonly {
    readonly http_connection_manager: {
      readonly http_filters: readonly object[]
      readonly route_config: { readonly virtual_hosts: readonly { readonly routes: object[] }[] }
    }
  }[]
  readonly clusters: readonly object[]
  readonly layered_runtime: object
}

const PREFIX = 'type.googleapis.com/envoy.extensions.filters'

/** The listener and the route of the existing Envoy, with the parts of a fragment inserted. */
function withFragment({ listeners: [listener], clusters, layered_runtime }: Fragment): object {
  const manager = listener?.http_connection_manager
  manager?.route_config.virtual_hosts[0]?.routes.unshift({
    match: { path: '/healthz' },
    direct_response: { status: 200, body: { inline_string: 'fine\n' } },
    typed_per_filter_config: {
      'envoy.filters.http.ext_authz': {
        '@type': `${PREFIX}.http.ext_authz.v3.ExtAuthzPerRoute`,
        disabled: true,
      },
    },
  })
  const router = {
    name: 'envoy.filters.http.router',
    typed_config: { '@type': `${PREFIX}.http.router.v3.Router` },
  }
  const connectionManager = {
    '@type': `${PREFIX}.network.http_connection_manager.v3.HttpConnectionManager`,
    stat_prefix: 'main',
    use_remote_address: true,
    ...manager,
    http_filters: [...(manager?.http_filters ?? []), router],
  }
  const filters = [
    { name: 'envoy.filters.network.http_connection_manager', typed_config: connectionManager },
  ]
  const socket_address = { address: '127.0.0.1', port_value: ports.get(8080) }
  return {
    layered_runtime,
    static_resources: {
      listeners: [{ name: 'main', address: { socket_address }, filter_chains: [{ filters }] }],
      clusters,
    },
  }
}

describe.each(Object.entries(CONFIGURATIONS))('%s', (_, configuration) => {
  beforeAll(async () => {
    backend = await startBackend()
    idp = await startDocumentServer()
    key = await newKey('k1')
    idp.serve('/application/o/mcp/jwks/', keySet(key))
    llm = await startLlmServer({ onPrompt: (prompt) => prompts.push(prompt) })
    const webhookPort = await freePort()
    webhook = await startGuardrailWebhook(webhookPort)
    folder = await mkdtemp(join(tmpdir(), 'gatehouse-beside-'))
    ports = new Map([
      [8080, await freePort()],
      [9000, idp.port],
      [3001, backend.port],
      [4000, llm.port],
      [8000, webhookPort],
      [18000, await freePort()],
      [19000, await freePort()],
    ])
    origin = `http://127.0.0.1:${String(ports.get(8080))}`
    gatehouse = await startGatehouse({
      command: 'serve',
      resources: await demoResources(),
      flags: ['--grpc', `127.0.0.1:${String(ports.get(18000))}`],
    })
    const config = join(folder, 'envoy.yaml')
    await writeFile(config, await configuration())
    envoy = spawn(envoyPath(), ['-c', config, '--use-dynamic-base-id', '--concurrency', '1'], {
      stdio: 'ignore',
    })
    await eventually(async () => {
      expect((await send(origin, '/mcp', initialize)).status).toBe(401)
    }, 30_000)
  })

  afterAll(async () => {
    prompts.length = 0
    const ended = once(envoy, 'exit')
    envoy.kill('SIGKILL')
    await ended
    await gatehouse.close()
    await idp.close()
    await backend.close()
    await llm.close()
    await webhook.close()
    await rm(folder, { recursive: true })
  })

  const tokenOf = (...groups: readonly string[]): Promise<string> =>
    signToken({ key, claims: { iss: issuer(), aud: 'mcp-demo', groups } })

  test('a caller without a token gets the challenge', async () => {
    const answer = await send(origin, '/mcp', initialize)
    expect(answer.headers['www-authenticate']).toBe(
      `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`,
    )
  })

  test('a member of the group passes, another does not', async () => {
    const member = await send(origin, '/mcp', {
      ...initialize,
      headers: bearer(await tokenOf('mcp-users')),
    })
    expect(member.status).toBe(200)
    const other = await send(origin, '/mcp', {
      ...initialize,
      headers: bearer(await tokenOf('staff')),
    })
    expect(other.status).toBe(403)
  })

  test('the documents are served without a token, with CORS', async () => {
    const answer = await send(origin, '/.well-known/oauth-protected-resource/mcp', {
      headers: { origin: 'https://app.example' },
    })
    expect(answer.status).toBe(200)
    expect(answer.headers['access-control-allow-origin']).toBe('https://app.example')
    expect(JSON.parse(answer.body)).toMatchObject({ authorization_servers: [`${origin}/mcp`] })
  })

  const chat = (content: string) =>
    send(origin, '/v1/chat/completions', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'sample', messages: [{ role: 'user', content }] }),
    })

  test('the webhook masks a prompt and its reply, and blocks another prompt', async () => {
    const masked = await chat('I am bob@example.com.')
    expect(masked.status).toBe(200)
    expect(masked.body).not.toContain('@example.com')
    const blocked = await chat('The password is swordfish.')
    expect(blocked.status).toBe(403)
    expect(prompts).toHaveLength(1)
    expect(prompts[0]).not.toContain('bob@example.com')
  })

  test('their own route is as it was', async () => {
    expect(await send(origin, '/healthz')).toMatchObject({ status: 200, body: 'fine\n' })
  })

  test('without Gatehouse the protected and the guarded route answer 503, and the other route is served', async () => {
    const token = await tokenOf('mcp-users')
    const seen = backend.requests.length
    await gatehouse.stop('SIGKILL')
    const answer = await send(origin, '/mcp', { ...initialize, headers: bearer(token) })
    expect(answer.status).toBe(503)
    expect((await chat('Hello')).status).toBe(503)
    expect(backend.requests).toHaveLength(seen)
    expect((await send(origin, '/healthz')).status).toBe(200)
  })
})

test('config/envoy/bootstrap.yaml is what `gatehouse bootstrap` prints', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [MAIN, 'bootstrap'])
  expect(await readFile(join(CONFIG, 'envoy/bootstrap.yaml'), 'utf8')).toBe(stdout)
})

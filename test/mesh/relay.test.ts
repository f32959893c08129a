// A relay beside a real Envoy Gateway whose Gateway has a SecurityPolicy with CORS of its own.

import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type McpServer, startMcpServer } from '../../src/cli/demo/mcp-server.js'
import { eventually } from '../../testing/eventually.js'
import { type Backend, startBackend } from '../support/backend.js'
import { ts2 } from '../support/clients/ts2.js'
import { type Gatehouse, startGatehouse } from '../support/gatehouse.js'
import { initialize, send } from '../support/http.js'
import { idpOne, startTestIdp, type TestIdp } from '../support/identity-provider.js'
import { authorizationAt, registerAt } from '../support/relay-login.js'
import { AS, CALLBACK, consenting, relayPolicy } from '../support/relay-stack.js'
import { proxyBackend } from '../support/resources.js'
import { type EnvoyGateway, startEnvoyGateway } from './support/envoy-gateway.js'
import { backend, gatewayDocuments, PORT, route } from './support/resources.js'
import { translateFor } from './support/translate.js'

const ORIGIN = `http://127.0.0.1:${PORT}`
const GRPC = '127.0.0.1:18005'
const PAGE = { origin: 'https://app.example' }

let server: McpServer
let other: Backend
let idp: TestIdp
let mesh: EnvoyGateway
let gatehouse: Gatehouse
let keys: string

/** CORS for all routes of the Gateway that have no SecurityPolicy of their own. */
const corsOfGateway = {
  apiVersion: 'gateway.envoyproxy.io/v1alpha1',
  kind: 'SecurityPolicy',
  metadata: { name: 'cors', namespace: 'default' },
  spec: {
    targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'eg' }],
    cors: { allowOrigins: ['*'], allowMethods: ['GET', 'POST'], allowCredentials: true },
  },
}

beforeAll(async () => {
  keys = await mkdtemp(join(tmpdir(), 'gatehouse-relay-key-'))
  const key = join(keys, 'relay.key')
  await writeFile(key, randomBytes(32))
  ;[server, other, idp, mesh] = await Promise.all([
    startMcpServer(),
    startBackend(),
    startTestIdp(idpOne, { sendIss: true }),
    startEnvoyGateway(),
  ])
  await mesh.write(
    'mesh.yaml',
    ...gatewayDocuments,
    corsOfGateway,
    route('mcp', '/mcp', 'mcp-server'),
    route('public', '/public', 'other'),
    backend('mcp-server', server.port),
    backend('other', other.port),
  )
  await eventually(async () => {
    expect((await send(ORIGIN, '/public')).status).toBe(200)
  }, 90_000)
  gatehouse = await startGatehouse({
    command: 'serve',
    resources: [proxyBackend('idp', idp), relayPolicy(idp, `${ORIGIN}/mcp`, undefined)],
    flags: [
      '--for',
      'envoy-gateway',
      '--route-key',
      'envoy-gateway',
      '--relay-key-file',
      key,
      '--resources',
      mesh.folder,
      '--grpc',
      GRPC,
    ],
  })
  await mesh.writeText(
    'gatehouse.yaml',
    await translateFor(
      'envoy-gateway',
      mesh.folder,
      gatehouse.folder,
      '--connect',
      GRPC,
      '--relay-key-file',
      key,
    ),
  )
  await eventually(async () => {
    expect((await send(ORIGIN, '/mcp', initialize)).status).toBe(401)
    expect((await send(ORIGIN, `${AS}/authorize`)).status).toBe(400)
  }, 90_000)
}, 300_000)

afterAll(async () => {
  await gatehouse.close()
  await mesh.close()
  await Promise.all([server, other, idp].map((party) => party.close()))
  await rm(keys, { recursive: true })
})

test('the official client logs in and calls a tool', async () => {
  expect((await ts2(`${ORIGIN}/mcp`, 'alice', consenting)).echo).toBe('Echo: hi')
})

test("the CORS of the Gateway's SecurityPolicy does not apply to the pages", async () => {
  // The policy is in force on other routes.
  const open = await send(ORIGIN, '/public', { headers: PAGE })
  expect(open.headers['access-control-allow-origin']).toBe(PAGE.origin)
  const consent = authorizationAt(ORIGIN, await registerAt(ORIGIN), 'v'.repeat(43))
  for (const path of [consent.pathname + consent.search, CALLBACK]) {
    const page = await send(ORIGIN, path, { headers: PAGE })
    expect(page.headers['content-type']).toContain('text/html')
    expect(Object.keys(page.headers).filter((name) => name.startsWith('access-control'))).toEqual(
      [],
    )
    const preflight = await send(ORIGIN, path, {
      method: 'OPTIONS',
      headers: { ...PAGE, 'access-control-request-method': 'POST' },
    })
    expect(preflight.headers['access-control-allow-origin']).toBeUndefined()
  }
})

// The tests of a relay beside a mesh with an API server: a client logs in, probes reach its pages, and whoever takes one of
// them is named.

import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type McpServer, startMcpServer } from '../../../src/cli/demo/mcp-server.js'
import type { ApiServer } from '../../../testing/api-server.js'
import { eventually } from '../../../testing/eventually.js'
import { type Replica, startReplica } from '../../../testing/replica.js'
import { type Backend, startBackend } from '../../support/backend.js'
import { ts2 } from '../../support/clients/ts2.js'
import { initialize, send } from '../../support/http.js'
import { idpOne, startTestIdp, type TestIdp } from '../../support/identity-provider.js'
import { AS, CALLBACK, consenting, relayPolicy } from '../../support/relay-stack.js'
import { proxyBackend } from '../../support/resources.js'
import { noMore, probesAt, untilEnforced, untilForbidden, YES } from './enforced.js'

const PATIENCE = 90_000
const PAGE = `${AS}/authorize`

/** A mesh with an API server, whose Gateway is there. */
export interface RelayMesh {
  readonly api: ApiServer
  /** Makes a Service that leads to a port of 127.0.0.1. Resolves to its port. */
  service(name: string, port: number): Promise<number>
  /** An HTTPRoute with one rule to a Service. */
  route(name: string, match: object, service: string, port: number): object
  close(): Promise<void>
}

/** What is different in each mesh. */
export interface RelayPlace {
  /** The origin of the Gateway. */
  readonly origin: string
  /** HOST:PORT of Gatehouse. */
  readonly grpc: string
  readonly flags: readonly string[]
  readonly start: () => Promise<RelayMesh>
}

const exactly = (value: string): object => ({ path: { type: 'Exact', value } })

/** Registers the tests. */
export function testRelay({ origin, grpc, flags, start }: RelayPlace): void {
  let server: McpServer
  let other: Backend
  let idp: TestIdp
  let mesh: RelayMesh
  let replica: Replica
  let keys: string
  /** A route of somebody else, which is older than that of the relay's pages. */
  let earlier: (path: string, more?: object) => object

  beforeAll(async () => {
    keys = await mkdtemp(join(tmpdir(), 'gatehouse-relay-key-'))
    const key = join(keys, 'relay.key')
    await writeFile(key, randomBytes(32))
    ;[server, other, idp, mesh] = await Promise.all([
      startMcpServer(),
      startBackend('other'),
      startTestIdp(idpOne, { sendIss: true }),
      start(),
    ])
    const [mcpPort, otherPort] = [
      await mesh.service('mcp-server', server.port),
      await mesh.service('other', other.port),
    ]
    earlier = (path, more = {}) =>
      mesh.route('earlier', { ...exactly(path), ...more }, 'other', otherPort)
    const prefix = { path: { type: 'PathPrefix', value: '/mcp' } }
    await mesh.api.apply(
      mesh.route('mcp', prefix, 'mcp-server', mcpPort),
      earlier('/earlier'),
      proxyBackend('idp', idp),
      relayPolicy(idp, `${origin}/mcp`, undefined),
    )
    await eventually(
      async () => expect((await send(origin, '/earlier')).status).toBe(200),
      PATIENCE,
    )
    replica = await startReplica({
      kubeconfig: await mesh.api.kubeconfig(),
      grpc,
      flags: [...flags, '--relay-key-file', key, '--allow-address', '127.0.0.1'],
    })
    await eventually(async () => {
      expect((await send(origin, '/mcp', initialize)).status).toBe(401)
      expect((await send(origin, PAGE)).status).toBe(400)
    }, PATIENCE)
  }, 300_000)

  afterAll(async () => {
    await replica.stop()
    await mesh.close()
    await Promise.all([server, other, idp].map((party) => party.close()))
    await rm(keys, { recursive: true })
  })

  const enforced = (condition: object): Promise<void> => untilEnforced(mesh.api, condition, 'mcp')

  test('the official client logs in and calls a tool', async () => {
    expect((await ts2(`${origin}/mcp`, 'alice', consenting)).echo).toBe('Echo: hi')
  })

  test('probes ask for a page too: an older route that takes it gets them, and is named', async () => {
    const probes = () => probesAt(other).filter(({ url }) => url === PAGE)
    await enforced(YES)
    expect(probes()).toEqual([])
    await mesh.api.apply(earlier(PAGE))
    const message = expect.stringContaining(
      `HTTPRoute default/earlier takes requests of ${PAGE}`,
    ) as unknown
    await enforced({ status: 'False', reason: 'Bypassed', message })
    await eventually(() => expect(probes()).not.toEqual([]), PATIENCE)
    await mesh.api.apply(earlier('/earlier'))
    await enforced(YES)
  })

  test('a route that takes some requests of a page is named', async () => {
    await mesh.api.apply(earlier(CALLBACK, { headers: [{ name: 'x-some', value: 'yes' }] }))
    const message = expect.stringContaining(
      `HTTPRoute default/earlier takes requests of ${CALLBACK}`,
    ) as unknown
    await enforced({ status: 'False', reason: 'Bypassed', message })
    await mesh.api.apply(earlier('/earlier'))
    await enforced(YES)
  })

  test('the route of the pages is named when it is deleted and cannot be applied again', async () => {
    const name = 'gatehouse-documents-mcp'
    const documents = await mesh.api.get('gateway.networking.k8s.io/v1', 'HTTPRoute', name)
    const forbidden = noMore('gateway.networking.k8s.io', 'httproutes', name)
    await mesh.api.apply(...forbidden)
    await untilForbidden(mesh.api, documents)
    await mesh.api.delete(documents)
    const message = expect.stringContaining(`HTTPRoute default/${name}`) as unknown
    await enforced({ status: 'False', reason: 'NotApplied', message })
    await mesh.api.delete(...forbidden)
    await enforced(YES)
    expect((await send(origin, PAGE)).status).toBe(400)
  })
}

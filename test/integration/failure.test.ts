// Gatehouse gone, slow or starting again beside an Envoy of its own life: callers get 503, and nothing unchecked gets through.

import { describe, expect, test, type TestContext } from 'vitest'
import { startBackend, type Backend } from '../support/backend.js'
import {
  json,
  startDocumentServer,
  type DocumentServer,
  type Reply,
} from '../support/document-server.js'
import { eventually } from '../support/eventually.js'
import { bearer, initialize, send, type Answer } from '../support/http.js'
import { startOtherEnvoy, type OtherEnvoy } from '../support/other-envoy.js'
import { freePort } from '../support/ports.js'
import {
  gateway,
  httpRoute,
  mcpRoute,
  proxyBackend,
  proxyPolicy,
  remoteJwks,
  rule,
} from '../support/resources.js'
import { startGatehouse, type Gatehouse } from '../support/stack.js'
import { keySet, newKey, signToken, type SigningKey } from '../support/tokens.js'
import { startTraffic, statusesOf } from '../support/traffic.js'

const ISSUER = 'http://idp.example/v1/apps/agentic/P1/MS1'
const REGISTRATION = '/.well-known/oauth-authorization-server/mcp/client-registration'
const PROVIDER_REGISTRATION = '/v1/mgmt/mcp/client/P1/MS1/register'
const METADATA = [
  '/.well-known/oauth-protected-resource/mcp',
  '/.well-known/oauth-authorization-server/mcp',
]

const key = await newKey('k1')

const tokenBy = async (signer: SigningKey): Promise<Record<string, string>> =>
  bearer(await signToken({ key: signer, claims: { iss: ISSUER, aud: 'mcp' } }))

const token = await tokenBy(key)

/** A provider and a backend, and a Gatehouse and Envoys that come and go. */
class World {
  private readonly closers: (() => unknown)[] = []

  private constructor(
    readonly backend: Backend,
    readonly idp: DocumentServer,
    readonly port: number,
    readonly grpc: string,
  ) {
    this.closers.push(
      () => backend.close(),
      () => idp.close(),
    )
    idp.serve('/jwks', keySet(key))
    idp.serve('/v1/apps/agentic/P1/MS1/.well-known/openid-configuration', { issuer: ISSUER })
  }

  static async start({ onTestFinished }: TestContext): Promise<World> {
    const grpc = `127.0.0.1:${String(await freePort())}`
    const world = new World(
      await startBackend(),
      await startDocumentServer(),
      await freePort(),
      grpc,
    )
    onTestFinished(async () => {
      for (const close of world.closers.reverse()) await close()
    })
    return world
  }

  get origin(): string {
    return `http://127.0.0.1:${String(this.port)}`
  }

  /** /mcp is protected and its registration goes to the provider; /open is not protected. */
  get resources(): readonly object[] {
    return [
      gateway([this.port]),
      proxyBackend('backend', this.backend),
      proxyBackend('idp', this.idp),
      mcpRoute('mcp', 'backend'),
      httpRoute('open', { rules: [rule('/open', 'backend')] }),
      proxyPolicy('mcp', 'mcp', {
        jwtAuthentication: {
          providers: [
            { issuer: ISSUER, audiences: ['mcp'], jwks: remoteJwks('idp', this.idp.port, '/jwks') },
          ],
          mcp: { provider: 'IdpTwo', resourceMetadata: { resource: `${this.origin}/mcp` } },
        },
      }),
    ]
  }

  async serve(resources = this.resources, ...more: readonly string[]): Promise<Gatehouse> {
    const flags = ['--grpc', this.grpc, '--listen-address', '127.0.0.1', ...more]
    const gatehouse = await startGatehouse({ command: 'serve', resources, flags })
    this.closers.push(async () => {
      await gatehouse.stop('SIGKILL')
      await gatehouse.close()
    })
    return gatehouse
  }

  async startEnvoy(name?: string): Promise<OtherEnvoy> {
    const envoy = await startOtherEnvoy(this.grpc, name)
    this.closers.push(() => envoy.stop())
    return envoy
  }

  async statusOf(path: string, headers: Record<string, string> = {}): Promise<number> {
    return (await send(this.origin, path, { headers })).status
  }

  works(timeoutMs?: number): Promise<void> {
    return eventually(async () => {
      for (const path of ['/mcp', ...METADATA]) expect(await this.statusOf(path, token)).toBe(200)
    }, timeoutMs)
  }

  register(): Promise<Answer> {
    return send(this.origin, REGISTRATION, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ redirect_uris: ['http://127.0.0.1:9/cb'] }),
    })
  }

  /** The provider answers there when the test says so; arrived: the first request is there. */
  heldAt(path: string): { readonly arrived: Promise<void>; release(reply: Reply): void } {
    let release: (reply: Reply) => void = () => undefined
    const reply = new Promise<Reply>((resolve) => (release = resolve))
    const arrived = new Promise<void>((arrive) => {
      this.idp.serve(path, (request, response) => {
        arrive()
        void reply.then((answer) => answer(request, response))
      })
    })
    return { arrived, release: (answer) => release(answer) }
  }
}

describe.concurrent('Gatehouse is killed', () => {
  test('the protected route and its documents answer 503, the open one goes on; all is well when it is back', async (context) => {
    const world = await World.start(context)
    const first = await world.serve()
    await world.startEnvoy()
    await world.works()
    await first.stop('SIGKILL')
    const seen = world.backend.requests.length
    for (const path of ['/mcp', ...METADATA])
      for (const headers of [{}, token]) expect(await world.statusOf(path, headers)).toBe(503)
    expect((await world.register()).status).toBe(503)
    expect((await send(world.origin, '/mcp', { ...initialize, headers: token })).status).toBe(503)
    expect(world.backend.requests).toHaveLength(seen)
    expect(await world.statusOf('/open')).toBe(200)
    await world.serve()
    await world.works(2_000)
    expect(await world.statusOf('/mcp')).toBe(401)
  })

  test('a change that was made meanwhile is in force when it is back', async (context) => {
    const world = await World.start(context)
    const first = await world.serve()
    await world.startEnvoy()
    await world.works()
    await first.stop('SIGKILL')
    await world.serve([...world.resources, httpRoute('new', { rules: [rule('/new', 'backend')] })])
    await eventually(async () => expect(await world.statusOf('/new')).toBe(200), 20_000)
  })
})

describe.concurrent('Gatehouse is there but does not answer', () => {
  test('callers get 503 within the time of a check, never through', async (context) => {
    const world = await World.start(context)
    const gatehouse = await world.serve()
    await world.startEnvoy()
    await world.works()
    const seen = world.backend.requests.length
    gatehouse.child.kill('SIGSTOP')
    const answers = await Promise.all([world.statusOf('/mcp'), world.statusOf('/mcp', token)])
    expect(answers).toEqual([503, 503])
    expect(await world.statusOf('/open')).toBe(200)
    expect(world.backend.requests.slice(seen).map(({ url }) => url)).toEqual(['/open'])
    gatehouse.child.kill('SIGCONT')
    await world.works()
  })

  test('the OAuth documents are 503 too, after the time of a call to the provider', async (context) => {
    const world = await World.start(context)
    const gatehouse = await world.serve()
    await world.startEnvoy()
    await world.works()
    gatehouse.child.kill('SIGSTOP')
    expect(await world.statusOf('/.well-known/oauth-protected-resource/mcp')).toBe(503)
    gatehouse.child.kill('SIGCONT')
    await world.works()
  })
})

describe.concurrent('Gatehouse starts again and again under traffic', () => {
  test('a caller is let through, or told 503; one without a token never gets through', async (context) => {
    const world = await World.start(context)
    const first = await world.serve()
    await world.startEnvoy()
    await world.works()
    const good = startTraffic({
      url: `${world.origin}/mcp`,
      headers: { ...token, 'x-caller': 'good' },
    })
    const bad = startTraffic({ url: `${world.origin}/mcp`, headers: { 'x-caller': 'bad' } })
    const open = startTraffic({ url: `${world.origin}/open`, headers: { 'x-caller': 'good' } })
    await first.stop('SIGKILL')
    const second = await world.serve()
    await world.works()
    await second.stop('SIGKILL')
    await world.serve()
    await world.works()
    const [goods, bads, opens] = await Promise.all([good.stop(), bad.stop(), open.stop()])
    expect(Object.keys(statusesOf(goods)).sort()).toEqual(['200', '503'])
    expect(Object.keys(statusesOf(bads)).sort()).toEqual(['401', '503'])
    expect(Object.keys(statusesOf(opens))).toEqual(['200'])
    expect(world.backend.requests.filter(({ headers }) => headers['x-caller'] === 'bad')).toEqual(
      [],
    )
  })

  test('a stream that comes back at the same version leaves no cluster or listener warming, and takes changes', async (context) => {
    const world = await World.start(context)
    const first = await world.serve()
    const envoy = await world.startEnvoy()
    await world.works()
    const updates = await envoy.stat('listener_manager.listener_modified')
    await first.stop('SIGKILL')
    const second = await world.serve()
    await eventually(async () => {
      expect(await envoy.stat('control_plane.connected_state')).toBe(1)
      expect(await second.metrics()).toMatch(
        /xds_pushes_total\{type="ClusterLoadAssignment"\} [1-9]/,
      )
    }, 20_000)
    expect(await envoy.stat('cluster_manager.warming_clusters')).toBe(0)
    expect(await envoy.stat('listener_manager.total_listeners_warming')).toBe(0)
    expect(await envoy.stat('listener_manager.listener_modified')).toBe(updates)
    await second.write('more.yaml', httpRoute('new', { rules: [rule('/new', 'backend')] }))
    await eventually(async () => expect(await world.statusOf('/new')).toBe(200), 1_000)
  })
})

describe.concurrent('SIGTERM', () => {
  test('a check that waits for fresh keys gets them', async (context) => {
    const world = await World.start(context)
    const gatehouse = await world.serve()
    await world.startEnvoy()
    await world.works()
    const rotated = await newKey('k2')
    const held = world.heldAt('/jwks')
    const waiting = world.statusOf('/mcp', await tokenBy(rotated))
    await held.arrived
    const stopped = gatehouse.stop()
    await eventually(async () => {
      expect((await fetch(`${gatehouse.admin}/readyz`)).status).toBe(503)
    }, 400)
    held.release(json(keySet(rotated)))
    expect(await waiting).toBe(200)
    expect(await stopped).toBe(0)
  })

  test('a registration under way at the provider is waited for', async (context) => {
    const world = await World.start(context)
    const gatehouse = await world.serve(world.resources, '--drain-timeout', '4s')
    await world.startEnvoy()
    await world.works()
    const held = world.heldAt(PROVIDER_REGISTRATION)
    const registration = world.register()
    await held.arrived
    const stopped = gatehouse.stop()
    // No expect().rejects here: what fails before it holds would count for a test that runs beside this one.
    await eventually(async () => {
      expect(await send(`http://${world.grpc}`, '/').then(String, String)).toContain('ECONNREFUSED')
    })
    held.release(json({ client_id: 'late' }, 201))
    const { status, body } = await registration
    expect([status, JSON.parse(body)]).toEqual([201, { client_id: 'late' }])
    expect(await stopped).toBe(0)
  })

  test('a registration that takes longer than the drain ends with 503, never at the backend', async (context) => {
    const world = await World.start(context)
    const gatehouse = await world.serve(world.resources, '--drain-timeout', '1s')
    await world.startEnvoy()
    await world.works()
    const seen = world.backend.requests.length
    const held = world.heldAt(PROVIDER_REGISTRATION)
    const registration = world.register()
    await held.arrived
    expect(await gatehouse.stop()).toBe(0)
    expect((await registration).status).toBe(503)
    expect(world.backend.requests).toHaveLength(seen)
  })
})

describe.concurrent('Envoys come and go', () => {
  test('one that starts again gets everything', async (context) => {
    const world = await World.start(context)
    await world.serve()
    const envoy = await world.startEnvoy()
    await world.works()
    await envoy.stop()
    await expect(world.statusOf('/mcp')).rejects.toThrow('ECONNREFUSED')
    await world.startEnvoy()
    await world.works()
    expect(await world.statusOf('/mcp')).toBe(401)
  })

  test('two at once: one for every Gateway, one for a Gateway of its own', async (context) => {
    const world = await World.start(context)
    const other = await freePort()
    const gatehouse = await world.serve([
      ...world.resources,
      gateway([other], 'own'),
      attachedTo('own'),
    ])
    const every = await world.startEnvoy()
    const one = await world.startEnvoy('default/own')
    expect(await every.listeners()).toHaveLength(2)
    expect(await one.listeners()).toHaveLength(1)
    const { envoys } = (await (await fetch(`${gatehouse.admin}/status`)).json()) as {
      envoys: { cluster: string; connected: boolean }[]
    }
    expect(envoys.map(({ cluster, connected }) => [cluster, connected]).sort()).toEqual([
      ['*', true],
      ['default/own', true],
    ])
    await world.works()
    await every.stop()
    await expect(world.statusOf('/mcp')).rejects.toThrow('ECONNREFUSED')
    expect((await send(`http://127.0.0.1:${String(other)}`, '/own')).status).toBe(200)
  })
})

const attachedTo = (name: string): object =>
  httpRoute('own', { parentRefs: [{ name }], rules: [rule('/own', 'backend')] })

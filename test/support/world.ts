// A protected MCP path served by a Gatehouse and Envoys that tests start and stop independently; everything ends with
// the test.

import { expect, type TestContext } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { freePort } from '../../testing/ports.js'
import { type Backend, startBackend } from './backend.js'
import { type DocumentServer, type Reply, startDocumentServer } from './document-server.js'
import { type Gatehouse, startGatehouse } from './gatehouse.js'
import { type Answer, bearer, send } from './http.js'
import { type OtherEnvoy, startOtherEnvoy } from './other-envoy.js'
import {
  gateway,
  httpRoute,
  mcpRoute,
  proxyBackend,
  proxyPolicy,
  remoteJwks,
  rule,
} from './resources.js'
import { keySet, newKey, type SigningKey, signToken } from './tokens.js'

const ISSUER = 'http://idp.example/v1/apps/agentic/P1/MS1'
const REGISTRATION = '/.well-known/oauth-authorization-server/mcp/client-registration'
export const PROVIDER_REGISTRATION = '/v1/mgmt/mcp/client/P1/MS1/register'
export const METADATA = [
  '/.well-known/oauth-protected-resource/mcp',
  '/.well-known/oauth-authorization-server/mcp',
]

const key = await newKey('k1')

export const tokenBy = async (signer: SigningKey): Promise<Record<string, string>> =>
  bearer(await signToken({ key: signer, claims: { iss: ISSUER, aud: 'mcp' } }))

export const token = await tokenBy(key)

/** A provider and a backend, and a Gatehouse and Envoys that can be started and stopped. */
export class World {
  readonly #closers: (() => unknown)[] = []

  private constructor(
    readonly backend: Backend,
    readonly idp: DocumentServer,
    readonly port: number,
    readonly grpc: string,
  ) {
    this.#closers.push(
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
      for (const close of world.#closers.reverse()) await close()
    })
    return world
  }

  get origin(): string {
    return `http://127.0.0.1:${String(this.port)}`
  }

  /** /mcp is protected and the provider handles its registration; /open is not protected. */
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
    this.#closers.push(async () => {
      await gatehouse.stop('SIGKILL')
      await gatehouse.close()
    })
    return gatehouse
  }

  async startEnvoy(name?: string): Promise<OtherEnvoy> {
    const envoy = await startOtherEnvoy(this.grpc, name)
    this.#closers.push(() => envoy.stop())
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

  /** Holds the provider's answers at a path until release(). `arrived` resolves at the first request. */
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

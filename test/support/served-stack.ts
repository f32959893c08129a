// `gatehouse serve` and a separate Envoy over a given transport, with a route that needs a token (/api), a guarded one
// (/both) and one with metadata documents (/mcp).

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type EnvoyChild, startEnvoy } from '../../src/cli/run-envoy/child.js'
import { waitUntilLive } from '../../src/cli/run-envoy/wait-until-live.js'
import type { JsonObject } from '../../src/model/json.js'
import { bootstrapJson, buildBootstrap } from '../../src/xds/bootstrap/bootstrap.js'
import { freePort } from '../../testing/ports.js'
import { type Backend, startBackend } from './backend.js'
import { envoyPath } from './envoy.js'
import { type Gatehouse, startGatehouse } from './gatehouse.js'
import { answerJson, completion, guardedBoth, sample, service } from './guardrails.js'
import { jwt, protectedRoute } from './protected-stack.js'
import { gateway, proxyBackend } from './resources.js'
import { documentRoute } from './short-requests.js'
import { newKey, type SigningKey } from './tokens.js'
import { makeTransport, type Transport, type TransportName } from './transports.js'

export interface ServedStack {
  /** Origin of Envoy's listener. */
  readonly origin: string
  /** Origin of Envoy's admin address. */
  readonly envoyAdmin: string
  readonly llm: Backend
  readonly webhook: Backend
  /** Signs tokens for /api. */
  readonly key: SigningKey
  gatehouse: Gatehouse
  /** Starts another Gatehouse at the same address, after the previous one has ended. */
  startGatehouse(): Promise<void>
  /** Starts the first Envoy, or replaces the previous one. */
  startEnvoy(): Promise<void>
  close(): Promise<void>
}

export interface ServedOptions {
  /** Modifies the bootstrap that Gatehouse would give to this Envoy. */
  readonly bootstrap?: (usual: JsonObject) => JsonObject
  /** Returns the transport that Envoy uses instead of Gatehouse's own address. */
  readonly through?: (transport: Transport) => Promise<Transport>
  readonly flags?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
}

const quiet = { debug() {}, info() {}, warn() {}, error() {} }

/** Starts everything except an Envoy. */
export async function startServed(
  name: TransportName,
  { bootstrap = (usual) => usual, through, flags = [], environment = {} }: ServedOptions = {},
): Promise<ServedStack> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-served-'))
  const [llm, webhook] = await Promise.all([startBackend('llm'), startBackend('webhook')])
  llm.answer(answerJson(completion('hello')))
  webhook.answer(sample)
  const key = await newKey('k1')
  const transport = await makeTransport(name, folder, await freePort())
  const { connection } = through === undefined ? transport : await through(transport)
  const [port, adminPort] = [await freePort(), await freePort()]
  const envoyAdmin = `http://127.0.0.1:${String(adminPort)}`
  const resources = [
    gateway([port]),
    proxyBackend('llm', llm),
    proxyBackend('backend', llm),
    ...service('guard', webhook.port),
    ...guardedBoth,
    ...protectedRoute('api', { jwtAuthentication: jwt([key]) }),
    ...(await documentRoute()),
  ]
  const serve = (): Promise<Gatehouse> =>
    startGatehouse({
      command: 'serve',
      resources,
      flags: [...transport.flags, '--listen-address', '127.0.0.1', ...flags],
      environment,
    })
  let envoy: EnvoyChild | undefined
  const stack: ServedStack = {
    origin: `http://127.0.0.1:${String(port)}`,
    envoyAdmin,
    llm,
    webhook,
    key,
    gatehouse: await serve(),
    startGatehouse: async () => {
      await stack.gatehouse.close()
      stack.gatehouse = await serve()
    },
    startEnvoy: async () => {
      await envoy?.stop()
      const usual = buildBootstrap({
        nodeCluster: '*',
        nodeId: 'envoy',
        connection,
        world: false,
        envoyAdmin: { type: 'tcp', host: '127.0.0.1', port: adminPort },
      })
      envoy = await startEnvoy({
        envoyPath: envoyPath(),
        bootstrap: bootstrap(bootstrapJson(usual)),
        logger: quiet,
        concurrency: 1,
      })
      await waitUntilLive(envoy, { type: 'tcp', host: '127.0.0.1', port: adminPort }, 30_000)
    },
    close: async () => {
      await envoy?.stop()
      await Promise.all([stack.gatehouse.close(), llm.close(), webhook.close()])
      await rm(folder, { recursive: true })
    },
  }
  return stack
}

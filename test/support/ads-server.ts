// An ADS server on a Unix socket for a real Envoy. It can be stopped and restarted with the same resources.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEnvoy } from '../../src/cli/run-envoy/child.js'
import { waitUntilLive } from '../../src/cli/run-envoy/wait-until-live.js'
import type { JsonObject } from '../../src/model/json.js'
import type { GrpcServer } from '../../src/wire/grpc/server.js'
import { startGrpcServer } from '../../src/wire/grpc/server.js'
import { bootstrapJson, buildBootstrap } from '../../src/xds/bootstrap/bootstrap.js'
import type { EncodedResource } from '../../src/xds/encode/encode.js'
import { ROUTE_TYPE, shortType } from '../../src/xds/encode/type-urls.js'
import type { AdsService } from '../../src/xds/server/ads-server.js'
import { createAdsService } from '../../src/xds/server/ads-server.js'
import type { GatewaySnapshot, NodeSnapshot } from '../../src/xds/server/snapshot-cache.js'
import { SnapshotCache } from '../../src/xds/server/snapshot-cache.js'
import { WAITS } from '../../src/xds/server/waits.js'
import { freePort } from '../../testing/ports.js'
import { recordingLogger } from '../wire/grpc/recording-logger.js'
import { envoyPath } from './envoy.js'
import { encodeJson, encodeRoutesJson } from './json-resources.js'

/** A response to a real Envoy, or Envoy's answer to one. */
export interface AdsEvent {
  readonly kind: 'ack' | 'nack' | 'sent'
  readonly node: string
  readonly type: string
  readonly message?: string
}

export interface RealAds {
  readonly events: AdsEvent[]
  /** Publishes the resources of each node, keyed by node.cluster. */
  publish(nodes: Readonly<Record<string, readonly JsonObject[]>>): void
  settled(): boolean
  start(): Promise<void>
  /** Stops abruptly, like a crash. */
  stop(): Promise<void>
  /** Ends the streams; Envoy reconnects by itself. */
  endStreams(): void
  startEnvoy(options: { readonly cluster: string; readonly world: boolean }): Promise<RealEnvoy>
  close(): Promise<void>
}

export interface RealEnvoy {
  /** Returns the JSON (or text) of an admin path. */
  admin(path: string): Promise<string>
}

/**
 * splits: whether Envoys that support it get virtual hosts as separate resources; lingerMs: how long what nothing names any
 * more stays.
 */
export async function realAds(splits = true, lingerMs = 0): Promise<RealAds> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-ads-'))
  const path = join(folder, 'ads.sock')
  const cache = new SnapshotCache()
  const events: AdsEvent[] = []
  const stops: (() => Promise<unknown>)[] = []
  const { logger } = recordingLogger()
  let server: GrpcServer | undefined
  let service: AdsService | undefined

  const start = async (): Promise<void> => {
    service = createAdsService({
      cache,
      logger,
      metrics: { xdsPush: () => undefined, xdsNack: () => undefined },
      mayReceiveSecrets: () => true,
      waits: { ...WAITS, lingerMs },
      onSent: ({ node }, type) => events.push({ kind: 'sent', node, type: shortType(type) }),
      onAck: ({ node }, type) => events.push({ kind: 'ack', node, type: shortType(type) }),
      onNack: ({ node }, type, _version, message) =>
        events.push({ kind: 'nack', node, type: shortType(type), message }),
    })
    server = await startGrpcServer({ address: { type: 'unix', path }, services: [service], logger })
  }
  const stop = async (): Promise<void> => {
    await server?.close()
    server = undefined
  }
  return {
    events,
    publish: (nodes) =>
      cache.set(
        new Map(Object.entries(nodes).map(([cluster, all]) => [cluster, forms(all, splits)])),
      ),
    settled: () => service?.settled() ?? false,
    start,
    stop,
    endStreams: () => service?.close(),
    startEnvoy: async ({ cluster, world }) => {
      const port = await freePort()
      const origin = `http://127.0.0.1:${String(port)}`
      const envoyAdmin = { type: 'tcp', host: '127.0.0.1', port } as const
      const bootstrap = buildBootstrap({
        nodeCluster: cluster,
        nodeId: `envoy-${cluster}`,
        connection: { address: { type: 'unix', path } },
        envoyAdmin,
        world,
      })
      const child = await startEnvoy({
        envoyPath: envoyPath(),
        bootstrap: bootstrapJson(bootstrap),
        logger,
        concurrency: 1,
      })
      stops.push(() => child.stop())
      await waitUntilLive(child, envoyAdmin, 30_000)
      return { admin: async (page) => (await fetch(`${origin}${page}`)).text() }
    },
    close: async () => {
      await Promise.all(stops.map((each) => each()))
      await stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

function forms(all: readonly JsonObject[], splits: boolean): GatewaySnapshot {
  const routes = all.filter(isRouteConfiguration).map(encodeRoutesJson)
  const others = all.filter((json) => !isRouteConfiguration(json)).map((json) => encodeJson(json))
  const whole = group([...others, ...routes.map((each) => each.whole())])
  const hosts = routes.flatMap((each) => each.fetched.flat().map(({ resource }) => resource))
  const split = group([...others, ...routes.map((each) => each.split), ...hosts])
  return { split: splits ? split : whole, whole: () => whole }
}

const isRouteConfiguration = (resource: JsonObject): boolean => resource['@type'] === ROUTE_TYPE

function group(all: readonly EncodedResource[]): NodeSnapshot {
  const types = new Map<string, Map<string, EncodedResource>>()
  for (const resource of all) {
    const ofType = types.get(resource.typeUrl) ?? new Map<string, EncodedResource>()
    types.set(resource.typeUrl, ofType.set(resource.name, resource))
  }
  return types
}

// An ADS server on a Unix socket for a real Envoy, that can be stopped and started again with what it served.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEnvoy } from '../../src/envoy/child.js'
import { waitUntilLive } from '../../src/envoy/wait-until-live.js'
import type { GrpcServer } from '../../src/grpc/server.js'
import { startGrpcServer } from '../../src/grpc/server.js'
import type { JsonObject } from '../../src/ir/json.js'
import { buildBootstrap } from '../../src/xds/bootstrap/bootstrap.js'
import type { EncodedResource } from '../../src/xds/encode/encode.js'
import { encodeResource } from '../../src/xds/encode/encode.js'
import { ROUTE_TYPE, shortType, VIRTUAL_HOST_TYPE } from '../../src/xds/encode/type-urls.js'
import type { AdsService } from '../../src/xds/server/ads-server.js'
import { createAdsService } from '../../src/xds/server/ads-server.js'
import type { GatewaySnapshot, NodeSnapshot } from '../../src/xds/server/snapshot-cache.js'
import { SnapshotCache } from '../../src/xds/server/snapshot-cache.js'
import { splitRoutes } from '../../src/xds/translator/split-routes.js'
import { recordingLogger } from '../grpc/recording-logger.js'
import { envoyPath } from './envoy.js'
import { freePort } from './ports.js'

/** What a real Envoy made of a snapshot. */
export interface AdsEvent {
  readonly kind: 'ack' | 'nack' | 'sent'
  readonly node: string
  readonly type: string
  readonly message?: string
}

export interface RealAds {
  readonly events: AdsEvent[]
  /** By node.cluster. */
  publish(nodes: Readonly<Record<string, readonly JsonObject[]>>): void
  settled(): boolean
  start(): Promise<void>
  /** At once, as a crash would. */
  stop(): Promise<void>
  /** Ends the streams; Envoy comes back by itself. */
  endStreams(): void
  startEnvoy(options: { readonly cluster: string; readonly world: boolean }): Promise<RealEnvoy>
  close(): Promise<void>
}

export interface RealEnvoy {
  /** The JSON (or text) of an admin path. */
  admin(path: string): Promise<string>
}

/** splits: Envoys that can take virtual hosts as resources of their own do. */
export async function realAds(splits = true): Promise<RealAds> {
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
      const bootstrap = buildBootstrap({
        nodeCluster: cluster,
        nodeId: `envoy-${cluster}`,
        connection: { address: { type: 'unix', path } },
        envoyAdmin: { type: 'tcp', host: '127.0.0.1', port },
        world,
      })
      const child = await startEnvoy({ envoyPath: envoyPath(), bootstrap, logger, concurrency: 1 })
      stops.push(() => child.stop())
      await waitUntilLive(child, origin, 30_000)
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
  if (!splits) return { split: group(all), whole: () => group(all) }
  const routes = all.filter(isRouteConfiguration)
  const { configurations, hosts } = splitRoutes(routes)
  const others = all.filter((resource) => !isRouteConfiguration(resource))
  const split = [...others, ...configurations, ...hosts.map(virtualHost)]
  return { split: group(split), whole: () => group(all) }
}

const isRouteConfiguration = (resource: JsonObject): boolean => resource['@type'] === ROUTE_TYPE

const virtualHost = (host: JsonObject): JsonObject => ({ '@type': VIRTUAL_HOST_TYPE, ...host })

function group(all: readonly JsonObject[]): NodeSnapshot {
  const types = new Map<string, Map<string, EncodedResource>>()
  for (const resource of all.map((json) => encodeResource(json))) {
    const ofType = types.get(resource.typeUrl) ?? new Map<string, EncodedResource>()
    types.set(resource.typeUrl, ofType.set(resource.name, resource))
  }
  return types
}

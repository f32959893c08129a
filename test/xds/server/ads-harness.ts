// Runs the ADS service behind a real gRPC server, and shows responses in short.

import { fromBinary, toJson } from '@bufbuild/protobuf'
import type { Any } from '@bufbuild/protobuf/wkt'
import type {
  DeltaDiscoveryResponse,
  DiscoveryResponse,
} from '../../../src/wire/grpc/generated/envoy/service/discovery/v3/discovery_pb.js'
import { registry } from '../../../src/wire/grpc/protos.js'
import { startGrpcServer } from '../../../src/wire/grpc/server.js'
import {
  CLUSTER_TYPE,
  ENDPOINT_TYPE,
  LISTENER_TYPE,
  ROUTE_TYPE,
  shortType,
} from '../../../src/xds/encode/type-urls.js'
import type { AdsService } from '../../../src/xds/server/ads-server.js'
import { createAdsService } from '../../../src/xds/server/ads-server.js'
import { SnapshotCache } from '../../../src/xds/server/snapshot-cache.js'
import { ANY_PORT } from '../../support/any-port.js'
import { recordingLogger } from '../../wire/grpc/recording-logger.js'
import type { Contents, Delta, World } from './fake-envoy.js'
import { bothForms, fakeEnvoy } from './fake-envoy.js'

export const node = { id: 'envoy-1', cluster: '*' }
export const PATIENCE_MS = 300

export interface AdsHarness {
  readonly cache: SnapshotCache
  readonly service: AdsService
  readonly envoy: ReturnType<typeof fakeEnvoy>
  /** Reports of the service: "ack NODE TYPE VERSION", "nack …", "count …", "close NODE". */
  readonly events: string[]
  publish(contents: Contents, cluster?: string): void
  close(): Promise<void>
}

interface AdsOptions {
  readonly mayReceiveSecrets?: boolean
  /** Called on each response. */
  readonly onSent?: () => void
  readonly lingerMs?: number
}

export async function startAds({
  mayReceiveSecrets = true,
  onSent = () => undefined,
  lingerMs = 0,
}: AdsOptions = {}): Promise<AdsHarness> {
  const cache = new SnapshotCache()
  const events: string[] = []
  const { logger } = recordingLogger()
  const service = createAdsService({
    cache,
    logger,
    metrics: {
      xdsPush: () => undefined,
      xdsNack: (type, id) => events.push(`count ${type} ${id}`),
    },
    mayReceiveSecrets: () => mayReceiveSecrets,
    waits: { patienceMs: PATIENCE_MS, lingerMs },
    onSent,
    onAck: (peer, type, version) => events.push(`ack ${peer.node} ${shortType(type)} ${version}`),
    onNack: (peer, type, version, message) =>
      events.push(`nack ${peer.node} ${shortType(type)} ${version} ${message}`),
    onClose: (peer) => events.push(`close ${peer.node}`),
  })
  const server = await startGrpcServer({ address: ANY_PORT, services: [service], logger })
  const envoy = fakeEnvoy(server.address)
  return {
    cache,
    service,
    envoy,
    events,
    publish: (contents, cluster = '*') => cache.set(new Map([[cluster, bothForms(contents)]])),
    close: async () => {
      envoy.close()
      await server.close()
    },
  }
}

function nameOf(any: Any): string {
  const schema = registry.getMessage(any.typeUrl.slice('type.googleapis.com/'.length))
  if (schema === undefined) throw new Error(any.typeUrl)
  const json = toJson(schema, fromBinary(schema, any.value), { useProtoFieldName: true })
  const { name, cluster_name } = json as { name?: string; cluster_name?: string }
  return name ?? cluster_name ?? ''
}

/** "Cluster a b" */
export const brief = (response: DiscoveryResponse): string =>
  [shortType(response.typeUrl), ...response.resources.map(nameOf)].join(' ')

/** "Cluster a b -c" */
export const briefDelta = (response: DeltaDiscoveryResponse): string =>
  [
    shortType(response.typeUrl),
    ...response.resources.map(({ name }) => name),
    ...response.removedResources.map((name) => `-${name}`),
  ].join(' ')

/** Takes the next response, ACKs it, and says what it held. */
export async function take(stream: World): Promise<string> {
  const response = await stream.next()
  stream.ack(response)
  return brief(response)
}

export async function takeDelta(stream: Delta): Promise<string> {
  const response = await stream.next()
  stream.ack(response)
  return briefDelta(response)
}

/** A stream that has everything of the snapshot. */
export async function connected(
  { envoy }: AdsHarness,
  names: { routes?: string[]; endpoints?: string[] } = {},
): Promise<World> {
  const stream = envoy.world()
  stream.ask(CLUSTER_TYPE, [], { node })
  await take(stream)
  if (names.endpoints !== undefined) {
    stream.ask(ENDPOINT_TYPE, names.endpoints)
    await take(stream)
  }
  stream.ask(LISTENER_TYPE)
  await take(stream)
  if (names.routes !== undefined) {
    stream.ask(ROUTE_TYPE, names.routes)
    await take(stream)
  }
  return stream
}

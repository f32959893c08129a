// A lightweight incremental ADS client that subscribes like an Envoy and ACKs everything. It is cheap enough to run a
// hundred of them.

import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import { type Client, type ClientDuplexStream } from '@grpc/grpc-js'
import { NodeSchema } from '../src/wire/grpc/generated/envoy/config/core/v3/base_pb.js'
import {
  DeltaDiscoveryRequestSchema,
  DeltaDiscoveryResponseSchema,
} from '../src/wire/grpc/generated/envoy/service/discovery/v3/discovery_pb.js'
import {
  CLUSTER_TYPE,
  ENDPOINT_TYPE,
  LISTENER_TYPE,
  ROUTE_TYPE,
  VIRTUAL_HOST_TYPE,
} from '../src/xds/encode/type-urls.js'

const METHOD = '/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources'
/** An Envoy version that supports virtual hosts as separate resources. */
const VERSION = { majorNumber: 1, minorNumber: 40, patch: 0 }

type Stream = ClientDuplexStream<Uint8Array, Buffer>

export interface LightEnvoy {
  /** Number of responses and resources received. */
  readonly taken: { responses: number; resources: number }
  /** Number of resources received, by type. */
  readonly byType: ReadonlyMap<string, number>
  close(): void
}

const asIs = (bytes: Buffer): Buffer => bytes
const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes)

export function startLightEnvoy(client: Client, id: string, onTaken: () => void): LightEnvoy {
  const stream: Stream = client.makeBidiStreamRequest(METHOD, asBuffer, asIs)
  const taken = { responses: 0, resources: 0 }
  const byType = new Map<string, number>()
  const node = create(NodeSchema, {
    id,
    cluster: '*',
    userAgentVersionType: { case: 'userAgentBuildVersion', value: { version: VERSION } },
  })
  const ask = (typeUrl: string, names: readonly string[] = []): void =>
    void stream.write(
      toBinary(
        DeltaDiscoveryRequestSchema,
        create(DeltaDiscoveryRequestSchema, {
          node,
          typeUrl,
          resourceNamesSubscribe: [...names],
        }),
      ),
    )
  stream.on('data', (bytes: Buffer) => {
    const { typeUrl, nonce, resources } = fromBinary(DeltaDiscoveryResponseSchema, bytes)
    taken.responses += 1
    taken.resources += resources.length
    const isFirst = !byType.has(typeUrl)
    byType.set(typeUrl, (byType.get(typeUrl) ?? 0) + resources.length)
    stream.write(
      toBinary(
        DeltaDiscoveryRequestSchema,
        create(DeltaDiscoveryRequestSchema, { typeUrl, responseNonce: nonce }),
      ),
    )
    const names = resources.map(({ name }) => name)
    if (typeUrl === CLUSTER_TYPE) {
      const [endpoints] = [names.filter((name) => name.includes('/'))]
      if (endpoints.length > 0) ask(ENDPOINT_TYPE, endpoints)
      if (isFirst) ask(LISTENER_TYPE)
    }
    if (typeUrl === LISTENER_TYPE && isFirst) ask(ROUTE_TYPE, names)
    if (typeUrl === ROUTE_TYPE && isFirst) ask(VIRTUAL_HOST_TYPE)
    onTaken()
  })
  stream.on('error', () => undefined)
  ask(CLUSTER_TYPE)
  return { taken, byType, close: () => stream.cancel() }
}

// A relay between an Envoy and Gatehouse's incremental ADS: forwards every message unchanged and records each
// response's time and size, and when Envoy answered it.

import { EventEmitter, once } from 'node:events'
import { promisify } from 'node:util'
import { fromBinary } from '@bufbuild/protobuf'
import {
  Client,
  credentials,
  type MethodDefinition,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
} from '@grpc/grpc-js'
import { AggregatedDiscoveryService } from '../src/wire/grpc/generated/envoy/service/discovery/v3/ads_pb.js'
import {
  DeltaDiscoveryRequestSchema,
  DeltaDiscoveryResponseSchema,
} from '../src/wire/grpc/generated/envoy/service/discovery/v3/discovery_pb.js'
import { shortType } from '../src/xds/encode/type-urls.js'

/** A response sent to Envoy. */
export interface Exchange {
  readonly type: string
  readonly nonce: string
  /** Size of the message. */
  readonly bytes: number
  /** performance.now() when the response was forwarded. */
  readonly passedAt: number
  /** performance.now() when Envoy's answer (ACK or NACK) was forwarded. */
  acceptedAt?: number
}

export interface AdsRelay {
  readonly port: number
  /** All responses, in the order in which they were forwarded. */
  readonly exchanges: readonly Exchange[]
  /** Resolves when more than `moreThan` responses were forwarded and Envoy has ACKed all. Rejects on a NACK. */
  accepted(moreThan: number, signal: AbortSignal): Promise<void>
  close(): void
}

const asIs = (bytes: Buffer): Buffer => bytes

const METHOD: MethodDefinition<Buffer, Buffer> = {
  path: `/${AggregatedDiscoveryService.typeName}/DeltaAggregatedResources`,
  requestStream: true,
  responseStream: true,
  requestSerialize: asIs,
  requestDeserialize: asIs,
  responseSerialize: asIs,
  responseDeserialize: asIs,
}

const OF_ANY_SIZE = { 'grpc.max_receive_message_length': -1, 'grpc.max_send_message_length': -1 }

/** @param gatehouse host:port or unix:PATH. */
export async function startAdsRelay(gatehouse: string): Promise<AdsRelay> {
  const exchanges: Exchange[] = []
  const answers = new EventEmitter()
  const client = new Client(gatehouse, credentials.createInsecure(), OF_ANY_SIZE)
  const server = new Server(OF_ANY_SIZE)
  const pass = (envoy: ServerDuplexStream<Buffer, Buffer>): void => {
    const upstream = client.makeBidiStreamRequest(METHOD.path, asIs, asIs)
    upstream.on('data', (response: Buffer) => {
      envoy.write(response)
      exchanges.push(exchangeOf(response))
    })
    envoy.on('data', (request: Buffer) => {
      upstream.write(request)
      const refusal = settle(request, exchanges)
      if (refusal === undefined) answers.emit('answer')
      else answers.emit('error', new Error(refusal))
    })
    for (const end of ['end', 'cancelled', 'error']) envoy.on(end, () => upstream.cancel())
    upstream.on('error', () => envoy.destroy())
  }
  server.addService({ pass: METHOD }, { pass })
  const bind = promisify(server.bindAsync.bind(server))
  const port = await bind('127.0.0.1:0', ServerCredentials.createInsecure())
  return {
    port,
    exchanges,
    accepted: async (moreThan, signal) => {
      const isUnderWay = ({ acceptedAt }: Exchange): boolean => acceptedAt === undefined
      while (exchanges.length <= moreThan || exchanges.some(isUnderWay))
        await once(answers, 'answer', { signal })
    },
    close: () => {
      server.forceShutdown()
      client.close()
    },
  }
}

function exchangeOf(response: Buffer): Exchange {
  const passedAt = performance.now()
  const { typeUrl, nonce } = fromBinary(DeltaDiscoveryResponseSchema, response)
  return { type: shortType(typeUrl), nonce, bytes: response.length, passedAt }
}

/** Records when Envoy answered. Returns the error message of a NACK; undefined for anything else. */
function settle(request: Buffer, exchanges: readonly Exchange[]): string | undefined {
  const at = performance.now()
  const { responseNonce, errorDetail } = fromBinary(DeltaDiscoveryRequestSchema, request)
  const exchange = exchanges.find(({ nonce }) => nonce === responseNonce)
  if (exchange !== undefined) exchange.acceptedAt = at
  return errorDetail?.message
}

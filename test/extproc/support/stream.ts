// Runs an ext_proc server in this process, and a client in the role of Envoy that sends streams of messages and records
// the responses.

import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { type Client, type ClientDuplexStream, Metadata, type StatusObject } from '@grpc/grpc-js'
import type { Logger } from '../../../src/kit/logger.js'
import { ROUTE_METADATA_KEY } from '../../../src/model/names.js'
import {
  type ProcessingRequest,
  ProcessingRequestSchema,
  type ProcessingResponse,
  ProcessingResponseSchema,
} from '../../../src/wire/grpc/generated/envoy/service/ext_proc/v3/external_processor_pb.js'
import { type GrpcServerOptions, startGrpcServer } from '../../../src/wire/grpc/server.js'
import type { GrpcService } from '../../../src/wire/grpc/service.js'
import { ANY_PORT } from '../../support/any-port.js'
import { EXTERNAL_PROCESSOR, messageCodec, plainClient } from '../../support/grpc-client.js'

export type Message = MessageInitShape<typeof ProcessingRequestSchema>

export interface Stream {
  send(...messages: Message[]): void
  /** The next response; rejects when the stream ends before. */
  next(): Promise<ProcessingResponse>
  /** How the stream ended. */
  readonly end: Promise<StatusObject>
  /** Responses so far. */
  readonly responses: readonly ProcessingResponse[]
  /** Resets the stream, as Envoy does when the client has left. */
  cancel(): void
  /** No more messages. */
  halfClose(): void
}

export interface ProcServer {
  /** key: that of the table; several: as if the metadata had it twice. */
  open(...keys: string[]): Stream
  /** Opens a stream that Envoy traces. */
  openTraced(key: string, traceparent: string, tracestate?: string): Stream
  close(): Promise<void>
}

export const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} }

export async function startProcServer(
  service: GrpcService,
  more: Pick<GrpcServerOptions, 'messages'> = {},
): Promise<ProcServer> {
  const server = await startGrpcServer({
    address: ANY_PORT,
    services: [service],
    logger: silent,
    ...more,
  })
  const client = plainClient(server.address)
  return {
    open: (...keys) => openStream(client, keys),
    openTraced: (key, ...context) => openStream(client, [key], context),
    close: () => {
      client.close()
      return server.close()
    },
  }
}

/** context: the traceparent and the tracestate. */
function openStream(
  client: Client,
  keys: readonly string[],
  [traceparent, tracestate]: readonly (string | undefined)[] = [],
): Stream {
  const metadata = new Metadata()
  if (traceparent !== undefined) metadata.set('traceparent', traceparent)
  if (tracestate !== undefined) metadata.set('tracestate', tracestate)
  for (const key of keys) metadata.add(ROUTE_METADATA_KEY, key)
  const call: ClientDuplexStream<ProcessingRequest, ProcessingResponse> =
    client.makeBidiStreamRequest(
      `/${EXTERNAL_PROCESSOR}/Process`,
      messageCodec(ProcessingRequestSchema).serialize,
      messageCodec(ProcessingResponseSchema).deserialize,
      metadata,
    )
  const responses: ProcessingResponse[] = []
  let taken = 0
  let wake = () => {}
  let ended: StatusObject | undefined
  call.on('error', () => {})
  call.on('data', (response: ProcessingResponse) => {
    responses.push(response)
    wake()
  })
  const end = new Promise<StatusObject>((resolve) => {
    call.on('status', (status: StatusObject) => {
      ended = status
      wake()
      resolve(status)
    })
  })
  return {
    responses,
    end,
    send: (...messages) => {
      for (const message of messages) call.write(create(ProcessingRequestSchema, message))
    },
    next: async () => {
      for (;;) {
        const response = responses[taken]
        if (response !== undefined) {
          taken += 1
          return response
        }
        if (ended !== undefined) throw new Error(`the stream ended with ${ended.details}`)
        await new Promise<void>((resolve) => (wake = resolve))
      }
    },
    cancel: () => call.cancel(),
    halfClose: () => call.end(),
  }
}

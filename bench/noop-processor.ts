// The reference for guardrails: an ext_proc server on grpc-js, in the same full-duplex mode, that passes everything on
// unchanged. Argument: its address.

import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf'
import {
  type MethodDefinition,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
} from '@grpc/grpc-js'
import {
  ExternalProcessor,
  type ProcessingRequest,
  ProcessingRequestSchema,
  type ProcessingResponse,
  ProcessingResponseSchema,
} from '../src/wire/grpc/generated/envoy/service/ext_proc/v3/external_processor_pb.js'

const [address = ''] = process.argv.slice(2)

/** Answers one message. */
function answer({ request }: ProcessingRequest): ProcessingResponse {
  if (request.case === undefined) throw new Error('a message without a phase')
  return create(ProcessingResponseSchema, { response: responseTo(request) })
}

type Response = NonNullable<MessageInitShape<typeof ProcessingResponseSchema>['response']>

function responseTo(request: ProcessingRequest['request']): Response {
  switch (request.case) {
    case 'requestHeaders':
    case 'responseHeaders':
      return { case: request.case, value: { response: { headerMutation: {} } } }
    case 'requestBody':
    case 'responseBody': {
      const { body, endOfStream } = request.value
      const mutation = { case: 'streamedResponse', value: { body, endOfStream } } as const
      return { case: request.case, value: { response: { bodyMutation: { mutation } } } }
    }
    case 'requestTrailers':
    case 'responseTrailers':
      return { case: request.case, value: {} }
    case undefined:
      return { case: undefined }
  }
}

const bufferOf = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength)

const PROCESS: MethodDefinition<ProcessingRequest, ProcessingResponse> = {
  path: `/${ExternalProcessor.typeName}/Process`,
  requestStream: true,
  responseStream: true,
  requestSerialize: (message) => bufferOf(toBinary(ProcessingRequestSchema, message)),
  requestDeserialize: (bytes) => fromBinary(ProcessingRequestSchema, bytes),
  responseSerialize: (message) => bufferOf(toBinary(ProcessingResponseSchema, message)),
  responseDeserialize: (bytes) => fromBinary(ProcessingResponseSchema, bytes),
}

const server = new Server({ 'grpc.max_concurrent_streams': 16_384 })
// Envoy resets every stream after use, and Node's HTTP/2 closes connections with too many resets. grpc-js has no
// option to raise that limit.
Object.assign((server as unknown as { commonServerOptions: object }).commonServerOptions, {
  streamResetBurst: 2 ** 31,
  streamResetRate: 2 ** 31,
})
server.addService(
  { process: PROCESS },
  {
    process: (call: ServerDuplexStream<ProcessingRequest, ProcessingResponse>) => {
      call.on('data', (message: ProcessingRequest) => {
        call.write(answer(message))
      })
      call.on('end', () => call.end())
      call.on('error', () => undefined)
    },
  },
)
server.bindAsync(address, ServerCredentials.createInsecure(), (error) => {
  if (error !== null) throw error
  process.stdout.write('ready\n')
})

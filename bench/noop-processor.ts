// The yardstick of guardrails: an ext_proc server on grpc-js, in the same full-duplex mode, that passes everything on as
// it comes. Argument: its address.

import { Server, ServerCredentials, type ServerDuplexStream } from '@grpc/grpc-js'
import {
  bodyMessages,
  headersMessage,
  trailersMessage,
} from '../src/extproc/stream/guard-messages.js'
import type {
  ProcessingRequest,
  ProcessingResponse,
} from '../src/grpc/generated/envoy/service/ext_proc/v3/external_processor_pb.js'
import { externalProcessorService } from '../test/support/grpc-client.js'

const [address = ''] = process.argv.slice(2)

function answer({ request }: ProcessingRequest): readonly ProcessingResponse[] {
  switch (request.case) {
    case 'requestHeaders':
      return [headersMessage('request')]
    case 'requestBody':
      return bodyMessages('request', request.value.body, request.value.endOfStream)
    case 'requestTrailers':
      return [trailersMessage('request')]
    case 'responseHeaders':
      return [headersMessage('response')]
    case 'responseBody':
      return bodyMessages('response', request.value.body, request.value.endOfStream)
    case 'responseTrailers':
      return [trailersMessage('response')]
    case undefined:
      throw new Error('a message without a phase')
  }
}

const server = new Server({ 'grpc.max_concurrent_streams': 16_384 })
// Envoy resets every stream when it is done with it, for which Node's HTTP/2 ends connections; grpc-js has no setting for it.
Object.assign((server as unknown as { commonServerOptions: object }).commonServerOptions, {
  streamResetBurst: 2 ** 31,
  streamResetRate: 2 ** 31,
})
server.addService(externalProcessorService, {
  process: (call: ServerDuplexStream<ProcessingRequest, ProcessingResponse>) => {
    call.on('data', (message: ProcessingRequest) => {
      for (const response of answer(message)) call.write(response)
    })
    call.on('end', () => call.end())
    call.on('error', () => undefined)
  },
})
server.bindAsync(address, ServerCredentials.createInsecure(), (error) => {
  if (error !== null) throw error
  process.stdout.write('ready\n')
})

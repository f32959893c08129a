// The check as a gRPC service: envoy.service.auth.v3.Authorization, bytes in, bytes out.

import type { sendUnaryData, ServerUnaryCall, ServiceDefinition } from '@grpc/grpc-js'
import { createCheck, type CheckCall, type CheckOptions } from './check.js'

type CheckHandler = (
  call: ServerUnaryCall<Buffer, Uint8Array>,
  callback: sendUnaryData<Uint8Array>,
) => void

export interface CheckService {
  readonly definition: ServiceDefinition<{ Check: CheckHandler }>
  readonly implementation: { readonly Check: CheckHandler }
}

const asBuffer = (bytes: Uint8Array): Buffer =>
  Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/** Messages stay bytes here: decoding and encoding are parts of the check, so that their failures are answers too. */
const definition = {
  Check: {
    path: '/envoy.service.auth.v3.Authorization/Check',
    requestStream: false,
    responseStream: false,
    requestSerialize: asBuffer,
    requestDeserialize: (bytes: Buffer) => bytes,
    responseSerialize: asBuffer,
    responseDeserialize: (bytes: Buffer): Uint8Array => bytes,
  },
} as const

export function createCheckService(options: CheckOptions): CheckService {
  const check = createCheck(options)
  return {
    definition,
    implementation: {
      Check: (call, callback) => {
        const answer = check(call.request, callOf(call))
        if (answer instanceof Promise) void answer.then((bytes) => callback(null, bytes))
        else callback(null, answer)
      },
    },
  }
}

function callOf(call: ServerUnaryCall<Buffer, Uint8Array>): CheckCall {
  return {
    isCancelled: () => call.cancelled,
    get deadline() {
      const deadline = call.getDeadline()
      return deadline instanceof Date ? deadline.getTime() : deadline
    },
  }
}

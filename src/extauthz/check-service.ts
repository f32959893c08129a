// The check as a gRPC service: envoy.service.auth.v3.Authorization, bytes in, bytes out.

import type { sendUnaryData, ServerUnaryCall } from '@grpc/grpc-js'
import { AUTHORIZATION, grpcMethod, type Codec } from '../grpc/protos.js'
import type { GrpcService } from '../grpc/server.js'
import { createCheck, type CheckCall, type CheckOptions } from './check.js'

/** Messages stay bytes here: decoding and encoding are parts of the check, so that their failures are answers too. */
const asBytes: Codec<Uint8Array> = {
  serialize: (bytes) => asBuffer(bytes),
  deserialize: (bytes) => bytes,
}

const asBuffer = (bytes: Uint8Array): Buffer =>
  Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

const definition = {
  check: grpcMethod({
    path: `/${AUTHORIZATION}/Check`,
    requestStream: false,
    responseStream: false,
    request: asBytes,
    response: asBytes,
  }),
}

export function createCheckService(options: CheckOptions): GrpcService {
  const check = createCheck(options)
  return {
    name: AUTHORIZATION,
    definition,
    implementation: {
      check: (
        call: ServerUnaryCall<Uint8Array, Uint8Array>,
        callback: sendUnaryData<Uint8Array>,
      ): void => {
        const answer = check(asBuffer(call.request), new ServedCall(call))
        if (answer instanceof Promise) void answer.then((bytes) => callback(null, bytes))
        else callback(null, answer)
      },
    },
  }
}

/**
 * A class: an object literal with a getter is given a hidden class of its own at each call, which keeps the whole call
 * in memory until the next full collection.
 */
class ServedCall implements CheckCall {
  constructor(private readonly call: ServerUnaryCall<Uint8Array, Uint8Array>) {}

  isCancelled(): boolean {
    return this.call.cancelled
  }

  get deadline(): number {
    const deadline = this.call.getDeadline()
    return deadline instanceof Date ? deadline.getTime() : deadline
  }
}

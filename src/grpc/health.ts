// grpc.health.v1.Health: Check and Watch, for Envoy's health checks and for orchestrators.

import { create } from '@bufbuild/protobuf'
import { status } from '@grpc/grpc-js'
import type {
  sendUnaryData,
  ServerUnaryCall,
  ServerWritableStream,
  UntypedServiceImplementation,
} from '@grpc/grpc-js'
import {
  HealthCheckResponse_ServingStatus,
  HealthCheckResponseSchema,
} from './generated/grpc/health/v1/health_pb.js'
import type {
  HealthCheckRequest,
  HealthCheckResponse,
} from './generated/grpc/health/v1/health_pb.js'

export interface Health {
  readonly implementation: UntypedServiceImplementation
  /** Every service of the server at once; watchers are told. */
  setServing(serving: boolean): void
  /** Ends the watchers' streams, so that the server can stop. */
  close(): void
}

type Watcher = ServerWritableStream<HealthCheckRequest, HealthCheckResponse>

/** names: the services that the server has; "" is the server as a whole. */
export const createHealth = (names: readonly string[]): Health => {
  const known = new Set(['', ...names])
  const watchers = new Set<Watcher>()
  /** Of what we do not serve: they are told so once, and their streams stay open as well. */
  const strangers = new Set<Watcher>()
  let serving = true

  const answer = (): HealthCheckResponse =>
    create(HealthCheckResponseSchema, {
      status: serving
        ? HealthCheckResponse_ServingStatus.SERVING
        : HealthCheckResponse_ServingStatus.NOT_SERVING,
    })
  const unknown = create(HealthCheckResponseSchema, {
    status: HealthCheckResponse_ServingStatus.SERVICE_UNKNOWN,
  })

  const check = (
    call: ServerUnaryCall<HealthCheckRequest, HealthCheckResponse>,
    callback: sendUnaryData<HealthCheckResponse>,
  ): void => {
    if (known.has(call.request.service)) callback(null, answer())
    else callback({ code: status.NOT_FOUND, details: 'unknown service' })
  }

  const watch = (call: Watcher): void => {
    const isKnown = known.has(call.request.service)
    const among = isKnown ? watchers : strangers
    call.write(isKnown ? answer() : unknown)
    among.add(call)
    call.on('cancelled', () => among.delete(call))
    call.on('error', () => among.delete(call))
  }

  return {
    implementation: { check, watch },
    setServing: (now) => {
      if (now === serving) return
      serving = now
      for (const watcher of watchers) watcher.write(answer())
    },
    close: () => {
      for (const watcher of [...watchers, ...strangers]) watcher.end()
      watchers.clear()
      strangers.clear()
    },
  }
}

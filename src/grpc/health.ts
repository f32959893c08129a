// The service grpc.health.v1.Health with Check and Watch, for Envoy's health checks and for orchestrators.

import { create } from '@bufbuild/protobuf'
import type {
  HealthCheckRequest,
  HealthCheckResponse,
} from './generated/grpc/health/v1/health_pb.js'
import {
  Health as HealthService,
  HealthCheckResponse_ServingStatus,
  HealthCheckResponseSchema,
} from './generated/grpc/health/v1/health_pb.js'
import type { GrpcService } from './service.js'
import { GrpcError, Status } from './status.js'
import type { TypedStreamCall, TypedStreamListener } from './typed-methods.js'
import { streamMethod, unaryMethod } from './typed-methods.js'

/** The health service and its status. */
export interface Health {
  readonly service: GrpcService
  /** Sets the status of all services, initially NOT_SERVING, and notifies watchers. */
  setServing(serving: boolean): void
  /** Ends the streams of watchers, which would keep the server from stopping. */
  close(): void
}

type Watcher = TypedStreamCall<HealthCheckResponse>

/** names: the services of the server; "" is the server as a whole. */
export function createHealth(names: readonly string[]): Health {
  const known = new Set(['', ...names])
  const watchers = new Set<Watcher>()
  /** Watchers of unknown services: they get SERVICE_UNKNOWN once, and their streams stay open as well. */
  const strangers = new Set<Watcher>()
  let serving = false

  const answer = (): HealthCheckResponse =>
    create(HealthCheckResponseSchema, {
      status: serving
        ? HealthCheckResponse_ServingStatus.SERVING
        : HealthCheckResponse_ServingStatus.NOT_SERVING,
    })
  const unknown = create(HealthCheckResponseSchema, {
    status: HealthCheckResponse_ServingStatus.SERVICE_UNKNOWN,
  })

  const check = ({ service }: HealthCheckRequest): HealthCheckResponse => {
    if (known.has(service)) return answer()
    throw new GrpcError(Status.NOT_FOUND, 'unknown service')
  }

  const watch = (call: Watcher): TypedStreamListener<HealthCheckRequest> => ({
    onMessage: ({ service }) => {
      const isKnown = known.has(service)
      const among = isKnown ? watchers : strangers
      call.send(isKnown ? answer() : unknown)
      among.add(call)
    },
    onEnd: () => {},
    onCancel: () => {
      watchers.delete(call)
      strangers.delete(call)
    },
    onDrain: () => {},
  })

  return {
    service: {
      name: HealthService.typeName,
      methods: {
        Check: { ...unaryMethod(HealthService.method.check, check), isPublic: true },
        Watch: { ...streamMethod(HealthService.method.watch, watch), isPublic: true },
      },
    },
    setServing: (now) => {
      if (now === serving) return
      serving = now
      for (const watcher of watchers) watcher.send(answer())
    },
    close: () => {
      for (const watcher of [...watchers, ...strangers]) watcher.end()
      watchers.clear()
      strangers.clear()
    },
  }
}

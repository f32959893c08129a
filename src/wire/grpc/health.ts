// The service grpc.health.v1.Health with Check and Watch, for Envoy's health checks and for orchestrators.

import {
  create,
  type DescMessage,
  type DescMethod,
  fromBinary,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf'
import {
  Health as HealthService,
  type HealthCheckRequest,
  type HealthCheckResponse,
  HealthCheckResponse_ServingStatus,
  HealthCheckResponseSchema,
} from './generated/grpc/health/v1/health_pb.js'
import type { Call, GrpcService, StreamCall, StreamMethod, UnaryMethod } from './service.js'
import { GrpcError, Status } from './status.js'

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

// Wraps methods on protobuf messages as methods on bytes.

/** A StreamCall that sends typed messages. */
interface TypedStreamCall<Response> extends Omit<StreamCall, 'send' | 'sendParts'> {
  send(message: Response): boolean
}

/** A StreamListener of decoded messages. */
interface TypedStreamListener<Request> {
  onMessage(message: Request): void
  onEnd(): void
  onCancel(): void
  onDrain(): void
}

/** The parts of a method descriptor that define its messages. */
type Described<Input extends DescMessage, Output extends DescMessage> = Pick<DescMethod, 'kind'> & {
  readonly input: Input
  readonly output: Output
}

/** Wraps a handler of decoded messages as a unary method. */
export const unaryMethod = <Input extends DescMessage, Output extends DescMessage>(
  { input, output }: Described<Input, Output>,
  handle: (
    request: MessageShape<Input>,
    call: Call,
  ) => MessageShape<Output> | Promise<MessageShape<Output>>,
): UnaryMethod => ({
  type: 'unary',
  handle: (bytes, call) => {
    const answer = handle(decode(input, bytes), call)
    return answer instanceof Promise
      ? answer.then((late) => toBinary(output, late))
      : toBinary(output, answer)
  },
})

/** Wraps a listener of decoded messages as a streaming method. */
export const streamMethod = <Input extends DescMessage, Output extends DescMessage>(
  { input, output }: Described<Input, Output>,
  open: (call: TypedStreamCall<MessageShape<Output>>) => TypedStreamListener<MessageShape<Input>>,
): StreamMethod => ({
  type: 'stream',
  open: (call) => {
    const listener = open(typedCall(call, output))
    return {
      onMessage: (bytes) => listener.onMessage(decode(input, bytes)),
      onEnd: () => listener.onEnd(),
      onCancel: () => listener.onCancel(),
      onDrain: () => listener.onDrain(),
    }
  },
})

const typedCall = <Output extends DescMessage>(
  call: StreamCall,
  output: Output,
): TypedStreamCall<MessageShape<Output>> => ({
  peer: call.peer,
  deadline: call.deadline,
  isCancelled: () => call.isCancelled(),
  metadata: (name) => call.metadata(name),
  send: (message) => call.send(toBinary(output, message)),
  end: (status, details) => call.end(status, details),
  pause: () => call.pause(),
  resume: () => call.resume(),
})

function decode<Desc extends DescMessage>(schema: Desc, bytes: Uint8Array): MessageShape<Desc> {
  try {
    return fromBinary(schema, bytes)
  } catch {
    throw new GrpcError(Status.INTERNAL, 'a message that cannot be read')
  }
}

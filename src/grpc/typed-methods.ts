// Wraps methods on protobuf messages as methods on bytes.

import type { DescMessage, DescMethod, MessageShape } from '@bufbuild/protobuf'
import { fromBinary, toBinary } from '@bufbuild/protobuf'
import type { Call, StreamCall, StreamMethod, UnaryMethod } from './service.js'
import { GrpcError, Status } from './status.js'

/** A StreamCall that sends typed messages. */
export interface TypedStreamCall<Response> extends Omit<StreamCall, 'send' | 'sendParts'> {
  send(message: Response): boolean
}

/** A StreamListener of decoded messages. */
export interface TypedStreamListener<Request> {
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

// Opens a stream by its first message, which names the route. Nothing is decided before that message, and a stream
// closed before it is refused and ends with UNAVAILABLE.

import type { StreamCall, StreamListener } from '../../wire/grpc/service.js'
import { GrpcError, Status } from '../../wire/grpc/status.js'
import { failureOf, refusedStream } from './stream-refusal.js'

/** open: called with the result of read() on the first message. It may throw, which ends the call. */
export function withFirstMessage<First>(
  call: Pick<StreamCall, 'send' | 'end'>,
  read: (bytes: Buffer) => First,
  open: (first: First) => StreamListener,
): StreamListener {
  let listener: StreamListener | undefined
  return {
    onMessage(bytes) {
      listener ??= open(firstOf(bytes, read))
      listener.onMessage(bytes)
    },
    onEnd() {
      if (listener !== undefined) return listener.onEnd()
      call.send(refusedStream('unavailable'))
      call.end(Status.UNAVAILABLE, 'the stream was closed before its answer')
    },
    onCancel: () => listener?.onCancel(),
    onDrain: () => listener?.onDrain(),
    refusal: (error) =>
      listener === undefined ? refusedStream(failureOf(error)) : listener.refusal?.(error),
  }
}

/** @throws GrpcError */
function firstOf<First>(bytes: Buffer, read: (bytes: Buffer) => First): First {
  try {
    return read(bytes)
  } catch {
    throw new GrpcError(Status.INTERNAL, 'a message that cannot be read')
  }
}

// A stream whose route is told by its first message: nothing is decided before it, and nothing of it is answered with OK.

import type { StreamCall, StreamListener } from '../../grpc/service.js'
import { GrpcError, Status } from '../../grpc/status.js'

/** open: with what read() makes of the first message. It may throw, which ends the call. */
export function withFirstMessage<First>(
  call: Pick<StreamCall, 'end'>,
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
      if (listener === undefined)
        call.end(Status.UNAVAILABLE, 'the stream was closed before its answer')
      else listener.onEnd()
    },
    onCancel: () => listener?.onCancel(),
    onDrain: () => listener?.onDrain(),
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

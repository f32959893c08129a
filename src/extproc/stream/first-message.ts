// A stream whose route is told by its first message: nothing is decided before it, and nothing of it is answered with OK.

import type { StreamCall, StreamListener } from '../../grpc/service.js'
import { GrpcError, Status } from '../../grpc/status.js'

/** open: with the keys that the first message names. It may throw, which ends the call. */
export function withFirstMessage(
  call: Pick<StreamCall, 'end'>,
  keysOf: (bytes: Buffer) => readonly string[],
  open: (keys: readonly string[]) => StreamListener,
): StreamListener {
  let listener: StreamListener | undefined
  return {
    onMessage(bytes) {
      listener ??= open(readKeys(bytes, keysOf))
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
function readKeys(bytes: Buffer, keysOf: (bytes: Buffer) => readonly string[]): readonly string[] {
  try {
    return keysOf(bytes)
  } catch {
    throw new GrpcError(Status.INTERNAL, 'a message that cannot be read')
  }
}

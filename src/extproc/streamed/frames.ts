// The first layer of a streamed reply: its bytes are decoded, cut into frames, and read as events, which are held.

import type { EventFrameReader } from '../../llm/framing/frame.js'
import { err, type Result } from '../../result.js'
import { UNREADABLE_ENCODING } from '../encodings/decode-reply.js'
import type { Decoder } from '../encodings/decoder.js'
import type { EventIntake } from './event-intake.js'

export interface Frames {
  /** The error is a sentence without any text: the reply cannot be read. */
  push(bytes: Uint8Array): Promise<Result<undefined, string>>
  /** Nothing more comes. */
  end(): Promise<Result<undefined, string>>
  /** Gives up what is being decoded. */
  close(): void
}

export interface FrameContext {
  /** Of its Content-Encoding. */
  readonly decoder: Decoder
  readonly reader: EventFrameReader
  readonly intake: Pick<EventIntake, 'take'>
  /** Whether nobody waits for more. */
  readonly isStopped: () => boolean
}

const NOTHING: Result<undefined, string> = { ok: true, value: undefined }

export function createFrames({ decoder, reader, intake, isStopped }: FrameContext): Frames {
  const take = (frames: ReturnType<EventFrameReader['push']>): Result<undefined, string> =>
    frames.ok ? intake.take(frames.value) : frames
  const read = async (
    decoded: Promise<Uint8Array | undefined>,
  ): Promise<Result<undefined, string>> => {
    const bytes = await decoded
    if (isStopped()) return NOTHING
    return bytes === undefined ? err(UNREADABLE_ENCODING) : take(reader.push(bytes))
  }
  return {
    push: (bytes) => read(decoder.push(bytes)),
    end: async () => {
      const rest = await read(decoder.end())
      return rest.ok && !isStopped() ? take(reader.end()) : rest
    },
    close: () => decoder.close(),
  }
}

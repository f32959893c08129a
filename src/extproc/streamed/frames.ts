// The first layer of a streamed reply: decodes its bytes, cuts them into frames and reads those as events. Works in
// slices: a piece of a compressed stream may expand to millions of frames, and one event may be as large as a body.

import type { EventFrameReader, Reading } from '../../llm/framing/frame.js'
import { err, type Result } from '../../result.js'
import { UNREADABLE_ENCODING } from '../encodings/decode-reply.js'
import type { Decoder } from '../encodings/decoder.js'
import type { EventIntake } from './event-intake.js'

/** Reads the bytes of a streamed reply. */
export interface Frames {
  /** Reads the next bytes. The error is a sentence without any text: the reply cannot be read. */
  push(bytes: Uint8Array): Promise<Result<undefined, string>>
  /** Reads what is left when the stream ends. */
  end(): Promise<Result<undefined, string>>
  /** Returns the bytes held: the incomplete frame, and the piece being read. */
  held(): number
  /** Stops decoding. */
  close(): void
}

/** What the bytes of a reply are read with. */
export interface FrameContext {
  /** Decoder for its Content-Encoding. */
  readonly decoder: Decoder
  readonly reader: EventFrameReader
  readonly intake: Pick<EventIntake, 'take'>
  /** Called between two slices; resolves when the next one may be read. */
  readonly pause: () => Promise<void>
  /** Whether nobody waits for more. */
  readonly isStopped: () => boolean
}

const NOTHING: Result<undefined, string> = { ok: true, value: undefined }

/** Creates a reader of the bytes of one reply. */
export function createFrames({ decoder, reader, intake, pause, isStopped }: FrameContext): Frames {
  let isRead = 0
  const inSlices = async (reading: Reading): Promise<Result<undefined, string>> => {
    for (let step = reading.next(); ; step = reading.next()) {
      if (step.done === true) return step.value
      await pause()
      if (isStopped()) return NOTHING
    }
  }
  const read = async (
    decoded: Promise<Uint8Array | undefined>,
  ): Promise<Result<undefined, string>> => {
    const bytes = await decoded
    if (isStopped()) return NOTHING
    if (bytes === undefined) return err(UNREADABLE_ENCODING)
    isRead = bytes.length
    const taken = await inSlices(reader.push(bytes, intake.take))
    isRead = 0
    return taken
  }
  return {
    push: (bytes) => read(decoder.push(bytes)),
    end: async () => {
      const rest = await read(decoder.end())
      return rest.ok && !isStopped() ? inSlices(reader.end(intake.take)) : rest
    },
    held: () => reader.held + isRead,
    close: () => decoder.close(),
  }
}

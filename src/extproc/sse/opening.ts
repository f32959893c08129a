// Tells a streamed reply from one that is read as a whole where the headers do not: by the first byte that is not white
// space, behind any encoding.

import { type Decoder, identity, resumed } from '../encodings/decoder.js'

/** What a reply may be besides a body that is read as a whole: one JSON array, events, or lines of JSON. */
export type StreamedForm = 'array' | 'events' | 'lines'

/** What the first bytes of a body tell. */
export type Opening =
  /** decoder: still produces all that was looked at. */
  | { readonly type: 'streamed'; readonly decoder: Decoder }
  /** To be read as a whole, also because it cannot be decoded as it arrives. */
  | { readonly type: 'whole' }
  /** Only white space so far, or a part of a field's name. */
  | { readonly type: 'unknown' }

/** Looks at the first bytes of a body. */
export interface StreamOpening {
  readonly form: StreamedForm
  /** Whether the first bytes of a body, from the wire, may need a look: those of JSON without an encoding do not. */
  mayBegin(bytes: Uint8Array): boolean
  /** bytes: from the wire. Must not be called again after any result but 'unknown'. */
  look(bytes: Uint8Array): Promise<Opening>
  /** Stops decoding. */
  close(): void
}

/** Maximum bytes of white space that are searched. No model sends as many; compressed, they could be endless. */
const MOST_SPACE = 64 * 1024

/**
 * form: if the body is streamed. decoder: for the reply's Content-Encoding. isDeclared: whether the headers say that form;
 * otherwise events are told by the name of a field.
 */
export function createOpening(
  form: StreamedForm,
  decoder: Decoder,
  isDeclared = true,
): StreamOpening {
  let space: Uint8Array = Buffer.of()

  /** undefined: more bytes are needed. */
  const beginsAt = (seen: Buffer, at: number): boolean | undefined => {
    if (isDeclared || form !== 'events') return BEGINS[form](seen[at] ?? 0)
    const start = seen.toString('latin1', at, at + LONGEST_FIELD)
    if (FIELD.test(start)) return true
    return start.length < LONGEST_FIELD && PART_OF_FIELD.test(start) ? undefined : false
  }
  const look = async (bytes: Uint8Array): Promise<Opening> => {
    const decoded = await decoder.push(bytes)
    if (decoded === undefined) return { type: 'whole' }
    const seen = Buffer.concat([space, decoded])
    const at = seen.subarray(0, MOST_SPACE).findIndex((byte) => !SPACE.has(byte))
    const begins = at === -1 ? undefined : beginsAt(seen, at)
    if (begins === true) return { type: 'streamed', decoder: resumed(decoder, seen) }
    if (begins === false || seen.length >= MOST_SPACE) return { type: 'whole' }
    space = seen
    return { type: 'unknown' }
  }
  const isJson = (bytes: Uint8Array): boolean => JSON_BEGINS.has(bytes[0] ?? 0)
  return {
    form,
    mayBegin: (bytes) => isDeclared || form !== 'events' || decoder !== identity || !isJson(bytes),
    look: async (bytes) => {
      const opening = await look(bytes)
      if (opening.type === 'whole') decoder.close()
      return opening
    },
    close: () => decoder.close(),
  }
}

const LONGEST_FIELD = 'event:'.length
const FIELD = /^(?:data|event|id|retry)?:/
const PART_OF_FIELD = /^[a-z]*$/

const SPACE: ReadonlySet<number> = new Set([0x20, 0x0a, 0x0d, 0x09])
const LIST = '['.charCodeAt(0)
const JSON_BEGINS: ReadonlySet<number> = new Set([LIST, ...Buffer.from('{"')])

/** By form, whether the first byte may begin it. Events have names, which begin no JSON. */
const BEGINS: Readonly<Record<StreamedForm, (byte: number) => boolean>> = {
  array: (byte) => byte === LIST,
  events: (byte) => !JSON_BEGINS.has(byte),
  lines: (byte) => JSON_BEGINS.has(byte),
}

// What reads an encoded body, piece by piece as it comes or all at once.

export interface Decoder {
  /** Resolves to what the bytes so far have added; undefined: damaged, or more than may be held of one piece. */
  push(bytes: Uint8Array): Promise<Uint8Array | undefined>
  /** Nothing more comes: what is still to be added; undefined: it breaks off. */
  end(): Promise<Uint8Array | undefined>
  /** Gives up what it holds. Nothing is asked of it after that; what is being asked is undefined. */
  close(): void
}

export const NO_BYTES = Buffer.alloc(0)

export const identity: Decoder = {
  push: (bytes) => Promise.resolve(bytes),
  end: () => Promise.resolve(NO_BYTES),
  close: () => {},
}

/** Goes on where decoder is, which has given what is in ahead. */
export function resumed(decoder: Decoder, ahead: Uint8Array): Decoder {
  let given = ahead
  const after = async (next: Promise<Uint8Array | undefined>): Promise<Uint8Array | undefined> => {
    const before = given
    given = NO_BYTES
    const bytes = await next
    return bytes && (before.length === 0 ? bytes : Buffer.concat([before, bytes]))
  }
  return {
    push: (bytes) => after(decoder.push(bytes)),
    end: () => after(decoder.end()),
    close: () => decoder.close(),
  }
}

/** first reads what came over the wire, second what first made of it. */
export function chain(first: Decoder, second: Decoder): Decoder {
  if (first === identity) return second
  return {
    push: async (bytes) => {
      const decoded = await first.push(bytes)
      return decoded && second.push(decoded)
    },
    end: async () => {
      const last = await first.end()
      const pushed = last && (await second.push(last))
      const ended = pushed && (await second.end())
      return ended && Buffer.concat([pushed, ended])
    },
    close: () => {
      first.close()
      second.close()
    },
  }
}

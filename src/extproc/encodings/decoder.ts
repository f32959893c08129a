// Interface of the body decoders, which work piece by piece, and ways to combine them.

/** Decodes a body piece by piece. */
export interface Decoder {
  /** Resolves to the output that these bytes add; undefined: damaged, or more output than one call may produce. */
  push(bytes: Uint8Array): Promise<Uint8Array | undefined>
  /** Ends the input. Resolves to the remaining output; undefined: the input is incomplete or damaged. */
  end(): Promise<Uint8Array | undefined>
  /** Releases its resources. No call may follow; pending calls resolve to undefined. */
  close(): void
}

/** Limits of what a decoder produces. */
export interface DecoderLimits {
  /** Maximum output of one call. */
  readonly maxBytes: number
  /** Called with the size of each piece of output. false: there is no room for it, and the call fails. */
  readonly mayHold?: ((bytes: number) => boolean) | undefined
}

/** No output. */
export const NO_BYTES = Buffer.alloc(0)

/** Passes bytes through: the body is not encoded. */
export const identity: Decoder = {
  push: (bytes) => Promise.resolve(bytes),
  end: () => Promise.resolve(NO_BYTES),
  close: () => {},
}

/** Returns a decoder whose first output is preceded by ahead, the bytes that the given decoder has already produced. */
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

/** Chains two decoders: first reads the bytes from the wire, second reads the output of first. */
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

// Bytes in parts. Long parts are shared without a copy: V8 collects all memory after some tens of megabytes of new bytes.

/** Minimum length in bytes of a part that is shared; shorter ones are copied into one. */
const LONG = 4_096

/** Returns the length of all parts in bytes. */
export const lengthOf = (parts: readonly Uint8Array[]): number =>
  parts.reduce((sum, { length }) => sum + length, 0)

/** Joins short parts; long ones stay as they are, without a copy. */
export function joinShort(parts: readonly Uint8Array[]): readonly Buffer[] {
  const all: Buffer[] = []
  let short: Uint8Array[] = []
  const join = (): void => {
    if (short.length > 0) all.push(Buffer.concat(short))
    short = []
  }
  for (const part of parts) {
    if (part.length < LONG) short.push(part)
    else {
      join()
      all.push(bufferOf(part))
    }
  }
  join()
  return all
}

/** Returns the bytes of all parts. */
export const joinAll = (parts: readonly Uint8Array[]): Uint8Array =>
  parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts)

const bufferOf = (bytes: Uint8Array): Buffer =>
  Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

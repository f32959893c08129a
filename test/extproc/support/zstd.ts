// Builds Zstandard frames (RFC 8878) that no encoder would write.

export interface Block {
  readonly type: 'raw' | 'repeat' | 'compressed'
  /** The byte that is repeated. */
  readonly content: Uint8Array
  /** For a repeated byte, the number of times. Otherwise the length that the header declares. */
  readonly size?: number
}

const TYPES = { raw: 0, repeat: 1, compressed: 2 } as const

/** window: 2 to the power of 10 + this, as its descriptor says it. Without checksum, dictionary and content size. */
export const frame = (window: number, blocks: readonly Block[]): Buffer =>
  Buffer.concat([
    Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, window << 3]),
    ...blocks.flatMap(({ type, content, size = content.length }, index) => {
      const isLast = index === blocks.length - 1 ? 1 : 0
      const header = Buffer.alloc(3)
      header.writeUIntLE(isLast | (TYPES[type] << 1) | (size << 3), 0, 3)
      return [header, content]
    }),
  ])

/** A MiB of zeros, for 32 bytes. */
export const mebibyte = (): Block[] =>
  Array.from({ length: 8 }, () => ({
    type: 'repeat',
    content: new Uint8Array(1),
    size: 128 * 1024,
  }))

/** A few bytes that decode to 98,047 copies of 65,539 bytes. */
export const endless: Block = {
  type: 'compressed',
  content: Buffer.from([0, 255, 0xff, 0xff, 0x54, 0, 0, 52, 1]),
}

// The body of an error that could not be read → whether a client could still read JSON in it. Pages and words are the
// server's own.

const BLANK: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d])
/** Byte order marks, and every other byte of UTF-16. */
const BESIDE_TEXT: ReadonlySet<number> = new Set([0x00, 0xef, 0xbb, 0xbf, 0xfe, 0xff])

const code = (mark: string): number => mark.charCodeAt(0)
const BEGINS: ReadonlySet<number> = new Set(['{', '"'].map(code))
const LIST = code('[')
/** What JSON has at the start of a list; words in brackets begin with a letter. */
const IN_LIST: ReadonlySet<number> = new Set([...'{["]-0123456789'].map(code))

/** Strict readers find none in it, but others overlook a mark, a member that is there twice, a damaged character. */
export function looksLikeJson(bytes: Uint8Array): boolean {
  const start = firstOf(bytes, 0)
  const first = bytes[start]
  if (first === undefined) return false
  if (first !== LIST) return BEGINS.has(first)
  return IN_LIST.has(bytes[firstOf(bytes, start + 1)] ?? LIST)
}

/** What says that it is compressed and cannot be decoded: words alone are what they look like. */
export const looksCompressed = (bytes: Uint8Array): boolean =>
  bytes.some((byte) => !BLANK.has(byte) && (byte < 0x20 || byte > 0x7e))

function firstOf(bytes: Uint8Array, from: number): number {
  let at = from
  while (at < bytes.length && isBeside(bytes[at] ?? 0)) at += 1
  return at
}

const isBeside = (byte: number): boolean => BLANK.has(byte) || BESIDE_TEXT.has(byte)

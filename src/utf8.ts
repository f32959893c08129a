// Bytes → their text, strictly: what another reader might replace or leave out is no text.

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The text, with a byte order mark that it begins with; undefined: not UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes)
  } catch {
    return undefined
  }
}

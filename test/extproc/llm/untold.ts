// Bodies without what a change of a text makes untrue, to compare the rest.

const SIGNATURES: ReadonlySet<string> = new Set([
  'signature',
  'thoughtSignature',
  'thought_signature',
  'encrypted_content',
  'encryptedValue',
  'reasoningEncryptedContent',
])
const OFFSETS: ReadonlySet<string> = new Set([
  'start',
  'end',
  'start_index',
  'end_index',
  'startIndex',
  'endIndex',
])

/** Returns JSON with empty signatures, and offsets of 0. */
export const untold = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, (name, inner: unknown) => {
      const isSignature = SIGNATURES.has(name) && /^[\w+/=-]*$/.test(String(inner))
      if (isSignature && typeof inner === 'string') return ''
      return OFFSETS.has(name) && typeof inner === 'number' ? 0 : inner
    }),
  )

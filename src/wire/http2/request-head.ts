// Validates and reads the header fields of a request (RFC 9113, sections 8.1 to 8.3).

import type { HeaderField } from './static-table.js'

/** The header section of a well-formed request (RFC 9113, section 8.3.1). */
export interface RequestHead {
  readonly method: string
  readonly scheme: string
  readonly path: string
  /** The fields without the pseudo-header fields; each byte of a value is one character. */
  readonly fields: readonly HeaderField[]
  readonly contentLength: number | undefined
}

type Pseudo = Partial<Record<':method' | ':scheme' | ':path' | ':authority', string>>

/** A field name: a lower-case token of RFC 9110, section 5.6.2 (section 8.2.1). */
const NAME = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/
/** Connection-specific fields of HTTP/1.1, which HTTP/2 forbids (section 8.2.2). */
const CONNECTION_SPECIFIC = new Set([
  'connection',
  'proxy-connection',
  'keep-alive',
  'transfer-encoding',
  'upgrade',
])

/** Returns the head of a request, or undefined if it is malformed (section 8.1.1). */
export function readRequestHead(list: readonly HeaderField[]): RequestHead | undefined {
  const pseudo: Pseudo = {}
  const fields: HeaderField[] = []
  for (const field of list) {
    const [name, value] = field
    if (!name.startsWith(':')) fields.push(field)
    // Pseudo-header fields precede all others, occur once each, and have known names (section 8.3).
    else if (fields.length > 0 || !isPseudo(name) || pseudo[name] !== undefined) return undefined
    else if (!isValue(value)) return undefined
    else pseudo[name] = value
  }
  const { ':method': method, ':scheme': scheme, ':path': path } = pseudo
  // Section 8.3.1. A CONNECT (section 8.5) has neither scheme nor path; it is not supported.
  if (method === undefined || scheme === undefined || path === undefined || path === '')
    return undefined
  if (!fields.every(isWellFormed)) return undefined
  const contentLength = readContentLength(fields)
  return contentLength === 'malformed' ? undefined : { method, scheme, path, fields, contentLength }
}

/** Whether trailers are well-formed: they have no pseudo-header fields (section 8.1). */
export const areWellFormedTrailers = (list: readonly HeaderField[]): boolean =>
  list.every(isWellFormed)

const isPseudo = (name: string): name is keyof Pseudo =>
  name === ':method' || name === ':scheme' || name === ':path' || name === ':authority'

function isWellFormed([name, value]: HeaderField): boolean {
  if (!NAME.test(name) || !isValue(value) || CONNECTION_SPECIFIC.has(name)) return false
  return name !== 'te' || value === 'trailers'
}

/** Whether a value has no NUL, LF or CR, and no space or tab at either end (section 8.2.1). */
function isValue(value: string): boolean {
  for (let at = 0; at < value.length; at++) {
    const code = value.charCodeAt(at)
    if (code === 0 || code === 0xa || code === 0xd) return false
  }
  return !isBlank(value.charCodeAt(0)) && !isBlank(value.charCodeAt(value.length - 1))
}

const isBlank = (code: number): boolean => code === 0x20 || code === 0x9

/** Reads content-length; all its values must be the same number (section 8.1.1). */
function readContentLength(fields: readonly HeaderField[]): number | undefined | 'malformed' {
  const values = fields.filter(([name]) => name === 'content-length').map(([, value]) => value)
  const [value] = values
  if (value === undefined) return undefined
  return values.every((other) => other === value) && /^\d{1,15}$/.test(value)
    ? Number(value)
    : 'malformed'
}

// A file → its documents, decoded where they are new; plain values, so that another thread can do it.

import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { type Decoded, decodeDocument } from '../decode/decode.js'
import { splitDocuments } from '../decode/yaml-document.js'
import type { Kind } from '../kinds/kinds.js'
import { fileErrorCode, type FoundFile } from './file-tree.js'

const MAX_DOCUMENTS = 20_000
const MAX_FILE_BYTES = 32 * 1024 * 1024
const TOO_LARGE = `is larger than ${MAX_FILE_BYTES} bytes`

export type ReadFile =
  | { readonly type: 'documents'; readonly documents: readonly ReadDocument[] }
  /** unread: the system did not let us read it, which may pass without a change of it. */
  | { readonly type: 'broken'; readonly message: string; readonly unread?: true }

export interface ReadDocument {
  /** Of its text. */
  readonly hash: string
  /** Of the file, on which it begins, from 1. */
  readonly line: number
  /** Absent: it is known. */
  readonly decoded?: Decoded
}

/** Hashes of documents that need not be decoded. */
export type KnownDocuments = Pick<ReadonlySet<string>, 'has'>

export interface DocumentReader {
  /** Never rejects. */
  read(
    file: Pick<FoundFile, 'path' | 'size'>,
    known: ReadonlyMap<string, unknown>,
  ): Promise<ReadFile>
  close(): void
}

/** In this thread. */
export const readerInPlace = (kinds: readonly Kind[]): DocumentReader => ({
  read: (file, known) => readDocuments(file, kinds, known),
  close: () => undefined,
})

export async function readDocuments(
  { path, size }: Pick<FoundFile, 'path' | 'size'>,
  kinds: readonly Kind[],
  known: KnownDocuments,
): Promise<ReadFile> {
  if (size > MAX_FILE_BYTES) return { type: 'broken', message: TOO_LARGE }
  try {
    return decodeDocuments(await readFile(path), path, kinds, known)
  } catch (error) {
    return { type: 'broken', message: `cannot be read: ${fileErrorCode(error)}`, unread: true }
  }
}

/** file: its name in messages. */
export function decodeDocuments(
  bytes: Uint8Array,
  file: string,
  kinds: readonly Kind[],
  known: KnownDocuments,
): ReadFile {
  if (bytes.length > MAX_FILE_BYTES) return { type: 'broken', message: TOO_LARGE }
  const text = decodeUtf8(bytes)
  if (text === undefined) return { type: 'broken', message: 'is not UTF-8 text' }
  const pieces = splitDocuments(text)
  if (pieces.length > MAX_DOCUMENTS)
    return { type: 'broken', message: `has more than ${MAX_DOCUMENTS} documents` }
  const documents = pieces.map((piece) => {
    const document = { hash: hash('sha256', piece.text, 'base64'), line: piece.line }
    return known.has(document.hash)
      ? document
      : { ...document, decoded: decodeDocument(piece, file, kinds) }
  })
  return { type: 'documents', documents }
}

function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

// Reads a file and decodes its new documents; the result is plain values, so it can run in another thread.

import { hash } from 'node:crypto'
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import { type Decoded, decodeDocument } from '../../schema/decode/decode.js'
import { splitDocuments } from '../../schema/decode/yaml-document.js'
import type { Kind } from '../../schema/kinds/kinds.js'
import { fileErrorCode, type FoundFile } from './file-tree.js'

const MAX_DOCUMENTS = 20_000
const MAX_FILE_BYTES = 32 * 1024 * 1024
const TOO_LARGE = `is larger than ${MAX_FILE_BYTES} bytes`

/** The documents of a file, or why it cannot be read. */
export type ReadFile =
  | {
      readonly type: 'documents'
      readonly documents: readonly ReadDocument[]
      /** Hash of the whole file, set if only a part of it was requested. */
      readonly content?: string
    }
  /** unread: the system could not read it, which may pass without a change of the file. */
  | { readonly type: 'broken'; readonly message: string; readonly unread?: true }

/** A document of a file. */
export interface ReadDocument {
  /** Hash of its text. */
  readonly hash: string
  /** The line of the file where it begins, from 1. */
  readonly line: number
  /** Absent if the document is already known. */
  readonly decoded?: Decoded
}

/** Selects every count-th document of a file, starting at index. */
export interface Part {
  readonly index: number
  readonly count: number
}

/** Hashes of documents that need not be decoded again. */
export type KnownDocuments = Pick<ReadonlySet<string>, 'has'>

/** Reads files, here or in other threads. */
export interface DocumentReader {
  /** Never rejects. */
  read(
    file: Pick<FoundFile, 'path' | 'size'>,
    known: ReadonlyMap<string, unknown>,
  ): Promise<ReadFile>
  close(): void
}

/** Returns a reader that runs in the current thread. */
export const readerInPlace = (kinds: readonly Kind[]): DocumentReader => ({
  read: (file, known) => Promise.resolve(readDocuments(file, kinds, known)),
  close: () => undefined,
})

/**
 * Reads a file. known: documents that need not be decoded, by their hash. Blocks its thread: for thousands of small
 * files, promises cost twenty times as much as the calls themselves.
 */
export function readDocuments(
  { path, size }: Pick<FoundFile, 'path' | 'size'>,
  kinds: readonly Kind[],
  known: KnownDocuments,
  part?: Part,
): ReadFile {
  if (size > MAX_FILE_BYTES) return { type: 'broken', message: TOO_LARGE }
  try {
    const bytes = readRegularFile(path)
    if (bytes === undefined) return { type: 'broken', message: 'is not a regular file' }
    return decodeDocuments(bytes, path, kinds, known, part)
  } catch (error) {
    return { type: 'broken', message: `cannot be read: ${fileErrorCode(error)}`, unread: true }
  }
}

/**
 * Returns the bytes; undefined if a pipe or device replaced the file: opening it without O_NONBLOCK might never end.
 */
function readRegularFile(path: string): Uint8Array | undefined {
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const found = fstatSync(file)
    return found.isFile() ? readAtMost(file, found.size) : undefined
  } finally {
    closeSync(file)
  }
}

/** Reads the file, at most one byte beyond the limit if it has grown or is endless. expected is roughly its size. */
function readAtMost(file: number, expected: number): Uint8Array {
  let bytes = Buffer.allocUnsafe(Math.min(expected, MAX_FILE_BYTES) + 1)
  for (let length = 0; ;) {
    const bytesRead = readSync(file, bytes, length, bytes.length - length, null)
    length += bytesRead
    if (bytesRead === 0 || length > MAX_FILE_BYTES) return bytes.subarray(0, length)
    if (length === bytes.length)
      bytes = Buffer.concat([bytes], Math.min(2 * length + 4096, MAX_FILE_BYTES + 1))
  }
}

/** Splits and decodes the documents; file is the name that messages use. */
export function decodeDocuments(
  bytes: Uint8Array,
  file: string,
  kinds: readonly Kind[],
  known: KnownDocuments,
  part?: Part,
): ReadFile {
  if (bytes.length > MAX_FILE_BYTES) return { type: 'broken', message: TOO_LARGE }
  const text = decodeUtf8(bytes)
  if (text === undefined) return { type: 'broken', message: 'is not UTF-8 text' }
  const pieces = splitDocuments(text)
  if (pieces.length > MAX_DOCUMENTS)
    return { type: 'broken', message: `has more than ${MAX_DOCUMENTS} documents` }
  const own =
    part === undefined ? pieces : pieces.filter((_, index) => index % part.count === part.index)
  const documents = own.map((piece) => {
    const document = { hash: hash('sha256', piece.text, 'base64'), line: piece.line }
    return known.has(document.hash)
      ? document
      : { ...document, decoded: decodeDocument(piece, file, kinds) }
  })
  return {
    type: 'documents',
    documents,
    ...(part !== undefined && { content: hash('sha256', bytes, 'base64') }),
  }
}

const UTF8 = new TextDecoder('utf-8', { fatal: true })

function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return UTF8.decode(bytes)
  } catch {
    return undefined
  }
}

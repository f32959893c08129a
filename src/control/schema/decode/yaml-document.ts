// Splits the text of a file into YAML (or JSON) documents; the limits of a document, and what is known of one that was parsed.

import type { Result } from '../../../kit/result.js'
import type { FieldPath } from '../kinds/field-path.js'

/** Maximum number of maps and lists inside one another. */
export const MAX_DEPTH = 100
/** Maximum number of keys in one map. */
export const MAX_MAP_KEYS = 10_000
/** Maximum number of keys in all maps of a document. */
export const MAX_KEYS = 500_000

/** A piece of a file that holds one document. */
export interface DocumentText {
  readonly text: string
  /** The line of the file where it begins, from 1. */
  readonly line: number
}

/** Splits at "---" lines, which always start a new document. Drops pieces that contain only comments. */
export function splitDocuments(text: string): DocumentText[] {
  const documents: DocumentText[] = []
  let line = 1
  for (const piece of text.split(/^(?=---(?:[ \t\r\n]|$))/m)) {
    if (!isBare(piece)) documents.push({ text: piece, line })
    line += piece.split('\n').length - 1
  }
  return documents
}

/**
 * Whether the piece has only comments. Tests each line: one pattern for all would backtrack through every split of a
 * "####" banner into comments.
 */
const isBare = (piece: string): boolean =>
  piece
    .replace(/^---/, '')
    .split(/\r\n|\n|\r/)
    .every((line) => /^\s*(?:\.\.\.\s*)?(?:[#%].*)?$/.test(line))

/** A place in a file. */
export interface Position {
  readonly line: number
  readonly column: number
}

/** Why a document cannot be read. */
export interface Fault extends Position {
  readonly message: string
}

/** A document that could be read. */
export interface ParsedDocument {
  readonly value: unknown
  /** Returns the position of a field's value ("key": of its key), or of the nearest enclosing node if it has none. */
  readonly positionOf: (path: FieldPath, part: 'key' | 'value') => Position
  /** Returns the line of each entry of a list; none if there is no list, or an alias stands in its path. */
  readonly entryLines: (path: FieldPath) => readonly number[]
}

/** A document, or why it cannot be read. */
export type ParsedYaml = Result<ParsedDocument, readonly Fault[]>

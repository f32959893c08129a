// JSON text → its values with the places where they stand, strictly: no member twice, no depth without end. A change
// is written into the text itself, so that everything else stays as it was, byte for byte.

import { err, ok, type Result } from '../../result.js'

/** Places are UTF-16 offsets into the text: start inclusive, end exclusive, quotes included. */
export interface Span {
  readonly start: number
  readonly end: number
}

/** A place alone. */
export const span = ({ start, end }: Span): Span => ({ start, end })

export type JsonNode = Span &
  (
    | { readonly type: 'object'; readonly members: ReadonlyMap<string, JsonNode> }
    | { readonly type: 'array'; readonly items: readonly JsonNode[] }
    | { readonly type: 'string'; readonly value: string }
    | { readonly type: 'null' | 'boolean' | 'number' }
  )

export type JsonProblem = 'not UTF-8' | 'not JSON' | 'a member is there twice' | 'nested too deeply'

export interface JsonText {
  readonly text: string
  readonly root: JsonNode
}

/** What CEL can read too. */
const MAX_DEPTH = 100

class Malformed extends Error {
  constructor(readonly problem: JsonProblem) {
    super(problem)
  }
}

export function readJson(bytes: Uint8Array): Result<JsonText, JsonProblem> {
  const text = utf8Text(bytes)
  return text === undefined ? err('not UTF-8') : readJsonText(text)
}

function utf8Text(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

export function readJsonText(text: string): Result<JsonText, JsonProblem> {
  try {
    return ok({ text, root: new Reader(text).readAll() })
  } catch (error) {
    if (error instanceof Malformed) return err(error.problem)
    throw error
  }
}

export interface Edit extends Span {
  /** JSON. */
  readonly json: string
}

/** edits: they do not overlap; in any order. */
export function applyEdits(text: string, edits: readonly Edit[]): string {
  const pieces: string[] = []
  let from = 0
  for (const { start, end, json } of [...edits].sort((a, b) => a.start - b.start)) {
    pieces.push(text.slice(from, start), json)
    from = end
  }
  return pieces.join('') + text.slice(from)
}

/** The same JSON without spaces, and with no character escaped that need not be: what a reader would search. */
export function plainJson(node: JsonNode, text: string): string {
  switch (node.type) {
    case 'object': {
      const members = [...node.members].map(
        ([name, value]) => `${JSON.stringify(name)}:${plainJson(value, text)}`,
      )
      return `{${members.join(',')}}`
    }
    case 'array':
      return `[${node.items.map((item) => plainJson(item, text)).join(',')}]`
    case 'string':
      return JSON.stringify(node.value)
    default:
      return text.slice(node.start, node.end)
  }
}

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const LITERALS = [
  ['null', 'null'],
  ['true', 'boolean'],
  ['false', 'boolean'],
] as const

class Reader {
  private at = 0

  constructor(private readonly text: string) {}

  readAll(): JsonNode {
    const root = this.value(0)
    this.space()
    if (this.at !== this.text.length) throw new Malformed('not JSON')
    return root
  }

  private value(depth: number): JsonNode {
    if (depth > MAX_DEPTH) throw new Malformed('nested too deeply')
    this.space()
    const start = this.at
    switch (this.text[start]) {
      case '{':
        return { type: 'object', members: this.members(depth), start, end: this.at }
      case '[':
        return { type: 'array', items: this.items(depth), start, end: this.at }
      case '"':
        return { type: 'string', value: this.string(), start, end: this.at }
      default:
        return { type: this.scalar(), start, end: this.at }
    }
  }

  private members(depth: number): ReadonlyMap<string, JsonNode> {
    const members = new Map<string, JsonNode>()
    this.list('}', () => {
      this.space()
      const name = this.string()
      if (members.has(name)) throw new Malformed('a member is there twice')
      this.space()
      this.expect(':')
      members.set(name, this.value(depth + 1))
    })
    return members
  }

  private items(depth: number): readonly JsonNode[] {
    const items: JsonNode[] = []
    this.list(']', () => items.push(this.value(depth + 1)))
    return items
  }

  private list(close: string, item: () => void): void {
    this.at += 1
    this.space()
    if (this.text[this.at] === close) {
      this.at += 1
      return
    }
    for (;;) {
      item()
      this.space()
      if (this.text[this.at] === close) break
      this.expect(',')
    }
    this.at += 1
  }

  private string(): string {
    const start = this.at
    this.expect('"')
    let isPlain = true
    for (; ; this.at += 1) {
      const code = this.text.charCodeAt(this.at)
      if (code === 0x22) break
      if (Number.isNaN(code) || code < 0x20) throw new Malformed('not JSON')
      if (code !== 0x5c) continue
      isPlain = false
      this.at += 1
    }
    this.at += 1
    return isPlain ? this.text.slice(start + 1, this.at - 1) : unescaped(this.text, start, this.at)
  }

  private scalar(): 'null' | 'boolean' | 'number' {
    for (const [word, type] of LITERALS) {
      if (!this.text.startsWith(word, this.at)) continue
      this.at += word.length
      return type
    }
    NUMBER.lastIndex = this.at
    if (!NUMBER.test(this.text)) throw new Malformed('not JSON')
    this.at = NUMBER.lastIndex
    return 'number'
  }

  private space(): void {
    for (; ; this.at += 1) {
      const code = this.text.charCodeAt(this.at)
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return
    }
  }

  private expect(mark: string): void {
    if (this.text[this.at] !== mark) throw new Malformed('not JSON')
    this.at += 1
  }
}

function unescaped(text: string, start: number, end: number): string {
  try {
    return JSON.parse(text.slice(start, end)) as string
  } catch {
    throw new Malformed('not JSON')
  }
}

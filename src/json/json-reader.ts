// The JSON reader (RFC 8259): strict, without recursion, and interruptible after any amount of work, so no body delays
// other requests while it is read.

import { GatehouseError } from '../errors.js'
import type { JsonNode, JsonProblem } from './json-node.js'
import { MemberNames } from './member-names.js'
import { folded } from './members.js'
import { endOfScalar, type ScalarType, scalarTypeAt } from './scalars.js'

/** Maximum depth of nesting, which CEL can read too. */
const MAX_DEPTH = 100
/** Maximum characters of a member's name as written: whoever compares or folds names does so at once. */
export const MAX_NAME = 64 * 1024
/** Maximum number of values kept of one text, because later walks over them do not pause. */
export const MAX_VALUES = 50_000
/** Scalars kept of a list that holds nothing else: vectors and lists of tokens have hundreds of thousands. */
export const KEPT_SCALARS = 1

/** Work for one value, in characters: it costs about as much as reading so many. */
const VALUE_WORK = 32
/** Characters read between two looks at the work done. */
const STRETCH = 16 * 1024

/** Why reading has stopped. */
export class Malformed extends GatehouseError {
  readonly code = 'malformed_json'

  constructor(readonly problem: JsonProblem) {
    super(problem)
  }
}

type State = 'value' | 'first item' | 'first name' | 'name' | 'colon' | 'after value' | 'string'

/** An object or array whose end has not been reached. Empty ones have neither members nor items. */
interface Open {
  readonly isObject: boolean
  readonly start: number
  members?: Map<string, JsonNode>
  items?: JsonNode[]
  unusual?: Map<string, string[]>
  /** Name of the member being read. */
  name: string
  /** Number of scalars that were not kept, which is possible while there is nothing but scalars. */
  dropped: number
  hasOthers: boolean
}

const NO_MEMBERS: ReadonlyMap<string, JsonNode> = new Map()
const NO_ITEMS: readonly JsonNode[] = []

/** Reads one text. */
export class JsonReader {
  /** Characters read, plus an amount for each value. */
  work = 0
  /** Number of values, including those that are not kept. */
  values = 0

  private at = 0
  private kept = 0
  private state: State = 'value'
  private root: JsonNode | undefined
  private readonly open: Open[] = []
  // The string being read: the place of its quote, where the part not yet decoded begins, and what is decoded, if it
  // has escapes.
  private isName = false
  private start = 0
  private from = 0
  private decoded: string | undefined

  /** maxValues: the number of values that may be kept. */
  constructor(
    private readonly text: string,
    private readonly maxValues = MAX_VALUES,
  ) {}

  /**
   * Does about this much work. undefined: the end has not been reached.
   * @throws Malformed
   */
  read(work: number): JsonNode | undefined {
    const until = this.work + work
    while (this.work < until) {
      const before = this.at
      if (this.state === 'string') this.readString()
      else if (this.skipSpace()) {
        if (this.at === this.text.length) return this.whole()
        this.step()
      }
      this.work += Math.max(this.at - before, 0) + 1
    }
    return undefined
  }

  private get innermost(): Open | undefined {
    return this.open[this.open.length - 1]
  }

  private whole(): JsonNode {
    if (this.root === undefined) throw new Malformed('not JSON')
    return this.root
  }

  /** false: the white space may continue. */
  private skipSpace(): boolean {
    const until = this.at + STRETCH
    for (; this.at < until; this.at += 1) {
      const code = this.text.charCodeAt(this.at)
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return true
    }
    return false
  }

  private step(): void {
    if (this.root !== undefined) throw new Malformed('not JSON')
    const mark = this.text[this.at]
    switch (this.state) {
      case 'first item':
        return mark === ']' ? this.close() : this.readValue(mark)
      case 'first name':
        return mark === '}' ? this.close() : this.beginString(true)
      case 'name':
        return this.beginString(true)
      case 'colon':
        this.expect(':')
        this.state = 'value'
        return
      case 'after value':
        return this.readAfterValue(mark)
      default:
        return this.readValue(mark)
    }
  }

  private readValue(mark: string | undefined): void {
    const isOther = mark === '{' || mark === '[' || mark === '"'
    if (!isOther) return this.readScalar()
    const list = this.innermost
    if (list?.isObject === false && !list.hasOthers && this.readAgain(list)) return
    if (mark === '"') return this.beginString(false)
    if (this.open.length >= MAX_DEPTH) throw new Malformed('nested too deeply')
    const isObject = mark === '{'
    this.open.push({ isObject, start: this.at, name: '', dropped: 0, hasOthers: false })
    this.at += 1
    this.state = isObject ? 'first name' : 'first item'
  }

  /**
   * Called at the first item that is not a scalar. Restarts the list if scalars before it were not kept; true if so.
   */
  private readAgain(list: Open): boolean {
    list.hasOthers = true
    if (list.dropped === 0) return false
    const kept = list.items?.length ?? 0
    this.kept -= kept
    this.values -= kept + list.dropped
    this.at = list.start + 1
    this.state = 'first item'
    list.dropped = 0
    list.items = []
    return true
  }

  private close(): void {
    const closed = this.open.pop()
    if (closed === undefined) throw new Malformed('not JSON')
    this.at += 1
    const { isObject, start, members = NO_MEMBERS, unusual, items = NO_ITEMS, dropped } = closed
    const end = this.at
    if (isObject) this.finish({ type: 'object', members, unusual, start, end })
    else if (dropped === 0) this.finish({ type: 'array', items, start, end })
    else this.finish({ type: 'array', items, isCut: true, start, end })
  }

  private readAfterValue(mark: string | undefined): void {
    const isObject = this.innermost?.isObject === true
    if (mark === (isObject ? '}' : ']')) return this.close()
    this.expect(',')
    this.state = isObject ? 'name' : 'value'
  }

  private beginString(isName: boolean): void {
    this.isName = isName
    this.start = this.at
    this.expect('"')
    this.from = this.at
    this.decoded = undefined
    this.state = 'string'
  }

  /** Reads a stretch of it. */
  private readString(): void {
    const { text } = this
    const until = this.at + STRETCH
    while (this.at < until) {
      let at = this.at
      let code = text.charCodeAt(at)
      while (code >= 0x20 && code !== 0x22 && code !== 0x5c && at < until)
        code = text.charCodeAt(++at)
      this.at = at
      if (at === until) break
      if (code === 0x22) return this.endString()
      if (code !== 0x5c) throw new Malformed('not JSON')
      this.readEscape()
    }
    this.expectShortName()
    if (this.decoded !== undefined) this.resolve()
  }

  private expectShortName(): void {
    if (this.isName && this.at - this.start - 1 > MAX_NAME)
      throw new Malformed('the name of a member is too long')
  }

  private readEscape(): void {
    if (this.decoded === undefined) {
      this.decoded = this.text.slice(this.from, this.at)
      this.from = this.at
    }
    this.at += this.text[this.at + 1] === 'u' ? 6 : 2
  }

  /** Decodes what has been read since the last time, and adds it to the string. */
  private resolve(): void {
    try {
      this.decoded += JSON.parse(`"${this.text.slice(this.from, this.at)}"`) as string
    } catch {
      throw new Malformed('not JSON')
    }
    this.from = this.at
  }

  private endString(): void {
    this.expectShortName()
    if (this.decoded !== undefined) this.resolve()
    const value = this.decoded ?? this.ownText()
    this.decoded = undefined
    this.at += 1
    if (!this.isName) return this.finish({ type: 'string', value, start: this.start, end: this.at })
    this.name(value)
    this.state = 'colon'
  }

  private ownText(): string {
    const { text, from, at } = this
    return this.isName ? names.read(text, from, at) : text.slice(from, at)
  }

  private name(name: string): void {
    const object = this.innermost
    if (object === undefined) throw new Malformed('not JSON')
    if (object.members?.has(name) === true) throw new Malformed('a member is there twice')
    object.name = name
    const plain = folded(name)
    if (plain === name) return
    object.unusual ??= new Map<string, string[]>()
    const spellings = object.unusual.get(plain)
    if (spellings === undefined) object.unusual.set(plain, [name])
    else spellings.push(name)
  }

  private readScalar(): void {
    const start = this.at
    const scalar = scalarTypeAt(this.text, start)
    const end = endOfScalar(this.text, start, scalar)
    if (end === undefined) throw new Malformed('not JSON')
    this.at = end
    const list = this.innermost
    const isKept =
      list?.isObject !== false || list.hasOthers || (list.items?.length ?? 0) < KEPT_SCALARS
    if (isKept) return this.finish({ type: nodeTypeOf(scalar), start, end })
    list.dropped += 1
    this.values += 1
    this.state = 'after value'
  }

  private finish(node: JsonNode): void {
    this.work += VALUE_WORK
    this.values += 1
    this.kept += 1
    if (this.kept > this.maxValues) throw new Malformed('it holds too many values')
    this.state = 'after value'
    const open = this.innermost
    if (open === undefined) this.root = node
    else if (open.isObject) (open.members ??= new Map<string, JsonNode>()).set(open.name, node)
    else (open.items ??= []).push(node)
  }

  private expect(mark: string): void {
    if (this.text[this.at] !== mark) throw new Malformed('not JSON')
    this.at += 1
  }
}

const nodeTypeOf = (scalar: ScalarType): 'null' | 'boolean' | 'number' =>
  scalar === 'true' || scalar === 'false' ? 'boolean' : scalar

/** The names of the members of all bodies. */
const names = new MemberNames()

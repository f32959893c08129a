// The JSON reader (RFC 8259): strict, without recursion, and interruptible after any amount of work, so no body delays
// other requests while it is read.

import type { JsonNode, Span } from './json-node.js'
import {
  type Keeps,
  KEPT_SCALARS,
  LEAST_OUTLINED,
  Malformed,
  MAX_NAME,
  MAX_VALUES,
  MOST_LEVELS,
  MOST_OUTLINED,
} from './keeps.js'
import { folded, type JsonObjectNode } from './members.js'

// Finds the ends of the values of JSON that are no strings, objects or arrays (RFC 8259, sections 3 and 6).

/** Type of a scalar. */
type ScalarType = 'null' | 'true' | 'false' | 'number'

/** Limits digits, and so the time for one number. Nobody keeps a number with more. */
const NUMBER = /-?(?:0|[1-9]\d{0,511})(?:\.\d{1,511})?(?:[eE][+-]?\d{1,19})?/y

/** Digits of an integer that needs no pattern, which takes longer to start. */
const FEW_DIGITS = 15

/** Returns the type that a scalar has by its first character, or of a number if it is none. */
function scalarTypeAt(text: string, at: number): ScalarType {
  switch (text.charCodeAt(at)) {
    case 0x6e:
      return 'null'
    case 0x74:
      return 'true'
    case 0x66:
      return 'false'
    default:
      return 'number'
  }
}

/** Returns the offset behind a scalar of this type; undefined: there is none. */
function endOfScalar(text: string, at: number, type: ScalarType): number | undefined {
  if (type === 'number') return endOfInteger(text, at) ?? endOfNumber(text, at)
  return text.startsWith(type, at) ? at + type.length : undefined
}

function endOfNumber(text: string, at: number): number | undefined {
  NUMBER.lastIndex = at
  return NUMBER.test(text) ? NUMBER.lastIndex : undefined
}

/** Returns the end of a short integer without a sign; undefined: it may be another number, or none. */
function endOfInteger(text: string, start: number): number | undefined {
  const first = text.charCodeAt(start)
  if (!isDigit(first)) return undefined
  let end = start + 1
  if (first !== 0x30) while (end - start < FEW_DIGITS && isDigit(text.charCodeAt(end))) end += 1
  const next = text.charCodeAt(end)
  // After a dot, an exponent or one more digit, the pattern decides.
  return next === 0x2e || next === 0x65 || next === 0x45 || isDigit(next) ? undefined : end
}

const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39

// Objects that are not kept, but read again by whoever looks at them: log probabilities have millions of values.

/** Reads a value of a text again. */
interface PlaceReader {
  /** Returns what is at a place, with its members. */
  readAt(place: Span): JsonNode | undefined
}

/** An object at a place of a text. A copy of its own properties lacks its members. */
class OutlinedObject implements JsonObjectNode {
  readonly type = 'object'

  /** reader: of the text; an object is at this place. */
  constructor(
    readonly start: number,
    readonly end: number,
    private readonly reader: PlaceReader,
  ) {}

  get members(): JsonObjectNode['members'] {
    return this.#whole().members
  }

  get unusual(): JsonObjectNode['unusual'] {
    return this.#whole().unusual
  }

  #whole(): JsonObjectNode {
    const node = this.reader.readAt(this)
    if (node?.type !== 'object') throw new Error('no object is there')
    return node
  }
}

// Objects and arrays while they are read.

/** An object or array whose end has not been reached. Empty ones have neither members nor items. */
interface OpenValue {
  readonly isObject: boolean
  readonly start: number
  /** Values that were kept before it. */
  readonly keptBefore: number
  /** Whether it is within an outlined member. */
  readonly isOutlined: boolean
  members?: Map<string, JsonNode>
  items?: JsonNode[]
  unusual?: Map<string, string[]>
  /** Name of the member being read. */
  name: string
  /** Number of scalars that were not kept, which is possible while there is nothing but scalars. */
  dropped: number
  hasOthers: boolean
}

/** Notes the name of the member that is read next. @throws Malformed if it is there twice */
function nameNext(object: OpenValue, name: string): void {
  if (object.members?.has(name) === true) throw new Malformed('a member is there twice')
  object.name = name
  const plain = folded(name)
  if (plain === name) return
  object.unusual ??= new Map<string, string[]>()
  const spellings = object.unusual.get(plain)
  if (spellings === undefined) object.unusual.set(plain, [name])
  else spellings.push(name)
}

// A string of JSON with escapes, decoded piece by piece.

/** Holds what has been decoded. */
class EscapedString {
  /** The last character, if it is the first half of a surrogate pair. */
  #half = ''
  #isWellFormedSoFar = true

  /** value: what stands before the first escape. */
  constructor(public value: string) {}

  /** Whether it has no half of a surrogate pair. */
  get isWellFormed(): boolean {
    return this.#isWellFormedSoFar && this.#half === ''
  }

  /**
   * Decodes a piece, which ends outside of an escape.
   * @throws Malformed
   */
  add(source: string): void {
    let piece: string
    try {
      piece = JSON.parse(`"${source}"`) as string
    } catch {
      throw new Malformed('not JSON')
    }
    this.value += piece
    const seen = this.#half + piece
    this.#half = /^[\ud800-\udbff]/.exec(seen.slice(-1))?.[0] ?? ''
    this.#isWellFormedSoFar &&= seen.slice(0, seen.length - this.#half.length).isWellFormed()
  }
}

// Memo of the names of members, which recur in nearly every body: a known name costs neither a new string nor its hash.

const SLOTS = 1024
/** Longer names are not kept. */
const LONGEST = 32
const FIRST_BEYOND_ASCII = 0x80

/** The names that were read last, at most one in each slot. */
export class MemberNames {
  readonly #slots = Array<string>(SLOTS).fill('')

  /** Returns a part of the text. */
  read(text: string, start: number, end: number): string {
    const length = end - start
    if (length > LONGEST) return text.slice(start, end)
    let hash = length
    let bits = 0
    for (let at = start; at < end; at++) {
      const code = text.charCodeAt(at)
      bits |= code
      hash = (Math.imul(hash, 31) + code) | 0
    }
    if (bits >= FIRST_BEYOND_ASCII) return text.slice(start, end)
    const slot = (hash ^ (hash >>> 8)) & (SLOTS - 1)
    const known = this.#slots[slot] ?? ''
    if (known.length === length && text.startsWith(known, start)) return known
    // A copy: a part would keep all of the text in memory.
    const name = Buffer.from(text.slice(start, end), 'latin1').toString('latin1')
    this.#slots[slot] = name
    return name
  }
}

/** Work for one value, in characters: it costs about as much as reading so many. */
const VALUE_WORK = 32
/** Characters read between two looks at the work done. */
const STRETCH = 16 * 1024

type State = 'value' | 'first item' | 'first name' | 'name' | 'colon' | 'after value' | 'string'

const NO_MEMBERS: ReadonlyMap<string, JsonNode> = new Map()
const NO_ITEMS: readonly JsonNode[] = []

/** Reads one text. */
export class JsonReader {
  /** Characters read, plus an amount for each value. */
  work = 0
  /** Number of values, including those that are not kept. */
  values = 0
  /** Whether no string or name has half of a surrogate pair, which cannot be encoded as UTF-8. */
  isWellFormed = true

  #at: number
  readonly #until: number
  #kept = 0
  #state: State = 'value'
  #root: JsonNode | undefined
  readonly #open: OpenValue[] = []
  // The string being read: the place of its quote, where the part not yet decoded begins, and what is decoded, if it
  // has escapes.
  #isName = false
  #start = 0
  #from = 0
  #escaped: EscapedString | undefined

  readonly #maxValues: number
  readonly #outlined: ReadonlySet<string> | undefined

  /** Reads a text, or the value of it that starts and ends there. */
  constructor(
    private readonly text: string,
    { maxValues = MAX_VALUES, outlined }: Keeps = {},
    { start, end }: Span = { start: 0, end: text.length },
  ) {
    this.#maxValues = maxValues
    this.#outlined = outlined
    this.#at = start
    this.#until = end
  }

  /**
   * Does about this much work. undefined: the end has not been reached.
   * @throws Malformed
   */
  read(work: number): JsonNode | undefined {
    const until = this.work + work
    while (this.work < until) {
      const before = this.#at
      if (this.#state === 'string') this.#readString()
      else if (this.#skipSpace()) {
        if (this.#at >= this.#until) return this.#whole()
        this.#step()
      }
      this.work += Math.max(this.#at - before, 0) + 1
    }
    return undefined
  }

  /** Reads the value that starts and ends there, all of which is kept. */
  readAt(place: Span): JsonNode | undefined {
    return new JsonReader(this.text, {}, place).read(Infinity)
  }

  get #innermost(): OpenValue | undefined {
    return this.#open[this.#open.length - 1]
  }

  #whole(): JsonNode {
    if (this.#root === undefined) throw new Malformed('not JSON')
    return this.#root
  }

  /** false: the white space may continue. */
  #skipSpace(): boolean {
    const until = this.#at + STRETCH
    for (; this.#at < until; this.#at += 1) {
      const code = this.text.charCodeAt(this.#at)
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return true
    }
    return false
  }

  #step(): void {
    if (this.#root !== undefined) throw new Malformed('not JSON')
    const mark = this.text[this.#at]
    switch (this.#state) {
      case 'first item':
        return mark === ']' ? this.#close() : this.#readValue(mark)
      case 'first name':
        return mark === '}' ? this.#close() : this.#beginString(true)
      case 'name':
        return this.#beginString(true)
      case 'colon':
        this.#expect(':')
        this.#state = 'value'
        return
      case 'after value':
        return this.#readAfterValue(mark)
      default:
        return this.#readValue(mark)
    }
  }

  #readValue(mark: string | undefined): void {
    const isOther = mark === '{' || mark === '[' || mark === '"'
    if (!isOther) return this.#readScalar()
    const list = this.#innermost
    if (list?.isObject === false && !list.hasOthers && this.#readAgain(list)) return
    if (mark === '"') return this.#beginString(false)
    if (this.#open.length >= MOST_LEVELS) throw new Malformed('nested too deeply')
    const isObject = mark === '{'
    const isOutlined = list?.isOutlined === true || this.#outlined?.has(list?.name ?? '') === true
    this.#open.push({
      isObject,
      isOutlined,
      start: this.#at,
      keptBefore: this.#kept,
      name: '',
      dropped: 0,
      hasOthers: false,
    })
    this.#at += 1
    this.#state = isObject ? 'first name' : 'first item'
  }

  /**
   * Called at the first item that is not a scalar. Restarts the list if scalars before it were not kept; true if so.
   */
  #readAgain(list: OpenValue): boolean {
    list.hasOthers = true
    if (list.dropped === 0) return false
    const kept = list.items?.length ?? 0
    this.#kept -= kept
    this.values -= kept + list.dropped
    this.#at = list.start + 1
    this.#state = 'first item'
    list.dropped = 0
    list.items = []
    return true
  }

  #close(): void {
    const closed = this.#open.pop()
    if (closed === undefined) throw new Malformed('not JSON')
    this.#at += 1
    const { isObject, start, members = NO_MEMBERS, unusual, items = NO_ITEMS, dropped } = closed
    const end = this.#at
    if (isObject) {
      const isItem = closed.isOutlined && this.#innermost?.isObject === false
      if (!isItem || end - start < LEAST_OUTLINED || end - start > MOST_OUTLINED)
        return this.#finish({ type: 'object', members, unusual, start, end })
      this.#kept = closed.keptBefore - 1
      this.#finish(new OutlinedObject(start, end, this))
    } else if (dropped === 0) this.#finish({ type: 'array', items, start, end })
    else this.#finish({ type: 'array', items, isCut: true, start, end })
  }

  #readAfterValue(mark: string | undefined): void {
    const isObject = this.#innermost?.isObject === true
    if (mark === (isObject ? '}' : ']')) return this.#close()
    this.#expect(',')
    this.#state = isObject ? 'name' : 'value'
  }

  #beginString(isName: boolean): void {
    this.#isName = isName
    this.#start = this.#at
    this.#expect('"')
    this.#from = this.#at
    this.#escaped = undefined
    this.#state = 'string'
  }

  /** Reads a stretch of it. */
  #readString(): void {
    const { text } = this
    const until = this.#at + STRETCH
    while (this.#at < until) {
      let at = this.#at
      let code = text.charCodeAt(at)
      while (code >= 0x20 && code !== 0x22 && code !== 0x5c && at < until)
        code = text.charCodeAt(++at)
      this.#at = at
      if (at === until) break
      if (code === 0x22) return this.#endString()
      if (code !== 0x5c) throw new Malformed('not JSON')
      this.#readEscape()
    }
    this.#expectShortName()
    if (this.#escaped === undefined) return
    this.#escaped.add(text.slice(this.#from, this.#at))
    this.#from = this.#at
  }

  #expectShortName(): void {
    if (this.#isName && this.#at - this.#start - 1 > MAX_NAME)
      throw new Malformed('the name of a member is too long')
  }

  #readEscape(): void {
    if (this.#escaped === undefined) {
      this.#escaped = new EscapedString(this.text.slice(this.#from, this.#at))
      this.#from = this.#at
    }
    this.#at += this.text[this.#at + 1] === 'u' ? 6 : 2
  }

  #endString(): void {
    this.#expectShortName()
    const value = this.#escaped === undefined ? this.#ownText() : this.#endEscaped(this.#escaped)
    this.#escaped = undefined
    this.#at += 1
    if (!this.#isName)
      return this.#finish({ type: 'string', value, start: this.#start, end: this.#at })
    if (this.#innermost === undefined) throw new Malformed('not JSON')
    nameNext(this.#innermost, value)
    this.#state = 'colon'
  }

  #endEscaped(escaped: EscapedString): string {
    escaped.add(this.text.slice(this.#from, this.#at))
    this.isWellFormed &&= escaped.isWellFormed
    return escaped.value
  }

  #ownText(): string {
    const { text } = this
    const from = this.#from
    const at = this.#at
    return this.#isName ? names.read(text, from, at) : text.slice(from, at)
  }

  #readScalar(): void {
    const start = this.#at
    const scalar = scalarTypeAt(this.text, start)
    const end = endOfScalar(this.text, start, scalar)
    if (end === undefined) throw new Malformed('not JSON')
    this.#at = end
    const list = this.#innermost
    const isKept =
      list?.isObject !== false || list.hasOthers || (list.items?.length ?? 0) < KEPT_SCALARS
    if (isKept) return this.#finish({ type: nodeTypeOf(scalar), start, end })
    list.dropped += 1
    this.values += 1
    this.#state = 'after value'
  }

  #finish(node: JsonNode): void {
    this.work += VALUE_WORK
    this.values += 1
    this.#kept += 1
    if (this.#kept > this.#maxValues) throw new Malformed('it holds too many values')
    this.#state = 'after value'
    const open = this.#innermost
    if (open === undefined) this.#root = node
    else if (open.isObject) (open.members ??= new Map<string, JsonNode>()).set(open.name, node)
    else (open.items ??= []).push(node)
  }

  #expect(mark: string): void {
    if (this.text[this.#at] !== mark) throw new Malformed('not JSON')
    this.#at += 1
  }
}

const nodeTypeOf = (scalar: ScalarType): 'null' | 'boolean' | 'number' =>
  scalar === 'true' || scalar === 'false' ? 'boolean' : scalar

/** The names of the members of all bodies. */
const names = new MemberNames()

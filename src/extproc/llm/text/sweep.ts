// Reads every string of a body or event as a text, unless it is a setting or the form says what it holds (decision 19).
// A form names its settings, and the members that hold more than text: tool calls, files, and objects with such ones.

import type { JsonNode } from '../../../kit/json/json-node.js'
import type { JsonObjectNode, JsonStringNode } from '../../../kit/json/members.js'
import { UnreadableForm } from '../../../kit/json/unreadable-form.js'
import { PIECE, type Soon, unitsOf, type Work } from '../../../kit/turns.js'
import { BESIDE_TEXTS, noteNumber, noteSignature } from './companions.js'
import { sweepDefinitions } from './definition.js'
import { type Form, type Holds, holdsOf, TEXTS } from './form.js'
import {
  type At,
  below,
  callOf,
  foundFile,
  foundJson,
  type FoundText,
  foundText,
  lookAt,
  type Source,
} from './found-text.js'
import { formBelow } from './schema.js'
import { isWord } from './settings.js'
import { isFile, isPlainName, isShaped } from './shapes.js'
import { addEchoes, type Echo, ECHOES } from './tokens.js'
import { expectNoTokens, expectReadable, isPrompt } from './vectors.js'

const NONE: ReadonlySet<string> = new Set()

interface Sweep {
  /** Members that are read separately. */
  readonly skip?: ReadonlySet<string>
  /** Index in out of the object's first text, including texts that are read separately. */
  readonly first?: number
}

/** Reads every member of an object. owner: the name of the member that contains it. */
export function* sweepObject(
  object: JsonObjectNode,
  owner: string,
  at: At,
  form: Form,
  out: FoundText[],
  { skip = NONE, first = out.length }: Sweep = {},
): Work<void> {
  lookAt(object.members.size, at.json)
  if (at.json.pace.isDue(1 + Math.min(object.members.size, FEW))) yield
  const plain = hasPlainNames(object, at.json)
  const isPlain = typeof plain === 'boolean' ? plain : yield* plain
  if (!isPlain && form.open !== undefined) throw oddName()
  // A name can be text too, so the whole object is shown, as JSON.
  if (!isPlain) return void out.push(yield* foundJson(object, at))
  const type = stringOf(object.members.get('type'))
  const inner = withEchoes(object, withRole(object, type, at, form))
  const echoes: Echo[] = []
  for (const [name, value] of object.members) {
    if (skip.has(name)) continue
    const isChosen = form.every !== undefined
    if (at.json.isRequest && !isChosen && isPrompt(name))
      yield* expectReadable(name, value, at.json)
    const isList = value.type === 'array' || value.type === 'object'
    if (isList && !isChosen && ECHOES.has(name)) echoes.push({ name, node: value })
    else if (isList || value.type === 'string') {
      if (at.json.pace.isDue(value.type === 'string' ? unitsOf(value.value.length) : 1)) yield
      const holds = holdsOf(form, type, owner, name)
      const before = out.length
      const about = isList && BESIDE_TEXTS.has(name) ? besideTexts(object, inner) : inner
      const work = sweepSoon(value, { name, holds }, about, form, out)
      if (work !== undefined) yield* work
      // One that does not look like a signature is a text.
      if (holds === 'signature' && value.type === 'string' && out.length === before)
        noteSignature(value, object, at)
    } else if (value.type === 'number') {
      noteNumber(name, value, at)
      if (SPOKEN.has(name) && isText({ name, holds: holdsOf(form, type, owner, name) }))
        throw ofNumber()
    }
  }
  if (echoes.length > 0) yield* addEchoes(out, first, echoes, inner)
}

/** Returns the context of a member whose companions are about what is beside it. */
const besideTexts = (object: JsonObjectNode, at: At): At =>
  at.about === undefined ? { ...at, about: { object, channel: at.channel ?? '' } } : at

/** Members that a model reads; what else is a number there could be an index or a code. */
const SPOKEN: ReadonlySet<string> = new Set(['text', 'content'])

const ofNumber = (): UnreadableForm => new UnreadableForm('a text is a number')

/** @throws UnreadableForm for a name that could be a text. */
export function* expectPlainNames(object: JsonObjectNode, json: Source): Work<void> {
  const plain = hasPlainNames(object, json)
  if (!(typeof plain === 'boolean' ? plain : yield* plain)) throw oddName()
}

const oddName = (): UnreadableForm => new UnreadableForm('a member has an odd name')

/** Number of members that are read without a pause. */
const FEW = 64

function hasPlainNames(object: JsonObjectNode, json: Source): Soon<boolean> {
  if (object.members.size > FEW) return hasPlainNamesInTurns(object, json)
  for (const name of object.members.keys()) if (!isPlainName(name)) return false
  return true
}

function* hasPlainNamesInTurns({ members }: JsonObjectNode, { pace }: Source): Work<boolean> {
  for (const name of members.keys()) {
    if (pace.isDue()) yield
    if (!isPlainName(name)) return false
  }
  return true
}

/** Maximum depth of repeated texts; each level costs as much as reading the texts once. */
const MOST_ECHOES = 4

function withEchoes({ members }: JsonObjectNode, at: At): At {
  let hasEchoes = false
  for (const name of ECHOES) {
    const node = members.get(name)
    hasEchoes ||= node?.type === 'array' || node?.type === 'object'
  }
  if (!hasEchoes) return at
  const echoes = (at.echoes ?? 0) + 1
  if (echoes > MOST_ECHOES) throw new UnreadableForm('it repeats its texts at too many depths')
  return { ...at, echoes }
}

/** Types of objects that contain what a tool returned. */
const RESULT = /(?:tool_result|_call_output|tool_search_output)$/

function withRole(object: JsonObjectNode, type: string | undefined, at: At, form: Form): At {
  if (form.open !== undefined || form === TEXTS)
    return type !== undefined && RESULT.test(type) ? { ...at, role: at.toolRole } : at
  const role = stringOf(object.members.get('role'))
  return role !== undefined && /^[\w-]{1,32}$/.test(role)
    ? { ...at, role: role === 'model' ? 'assistant' : role }
    : at
}

const stringOf = (node: JsonNode | undefined): string | undefined =>
  node?.type === 'string' ? node.value : undefined

interface Member {
  readonly name: string
  readonly holds: Holds | undefined
}

/** Returns undefined after reading a string that is a text or a setting, as nearly all are; else the work to do. */
function sweepSoon(
  node: JsonNode,
  member: Member,
  around: At,
  form: Form,
  out: FoundText[],
): Work<void> | undefined {
  const isFast = !OTHERWISE.has(member.holds) && !isInspectedFile(member, around)
  if (node.type === 'string' && node.value.length <= PIECE && isFast) {
    const silent = isSilent(node, member, form, around.json)
    if (silent === true) return undefined
    if (silent === false) {
      const at = below(around, member.name)
      const role = member.holds === 'result' ? at.toolRole : at.role
      return void out.push(foundText(node, { ...at, role }))
    }
  }
  return sweepMember(node, member, around, form, out)
}

/** Kinds of members whose strings need more than to be read as text. */
const OTHERWISE: ReadonlySet<Holds | undefined> = new Set([
  'call',
  'jsonCall',
  'json',
  'definition',
])

export function* sweepMember(
  node: JsonNode,
  member: Member,
  around: At,
  form: Form,
  out: FoundText[],
): Work<void> {
  const at = below(around, member.name)
  if (node.type === 'array' && isText(member)) yield* expectNoTokens(member.name, node, at.json)
  if (node.type === 'number' && isText(member)) throw ofNumber()
  switch (member.holds) {
    case 'call':
    case 'jsonCall':
      out.push(yield* callOf(node, at, member.holds === 'jsonCall'))
      return
    case 'json':
      out.push(yield* foundJson(node, { ...at, role: at.toolRole }))
      return
    case 'definition':
      return yield* sweepDefinitions(node, member.name, at, out)
    case 'result':
      return yield* sweepBelow(node, member, { ...at, role: at.toolRole }, form, out)
    default:
      return yield* sweepBelow(node, member, at, formBelow(form, member.name, member.holds), out)
  }
}

const isText = ({ name, holds }: Member): boolean =>
  holds === 'text' || holds === 'texts' || (holds === 'inner' && name === 'content')

const isInspectedFile = ({ holds }: Member, { json }: At): boolean =>
  holds === 'file' && json.inspects.files

/** Reads a member's value, or an item of it. */
function* sweepBelow(
  node: JsonNode,
  member: Member,
  at: At,
  form: Form,
  out: FoundText[],
): Work<void> {
  if (at.json.pace.isDue()) yield
  if (node.type === 'string') {
    const silent = isSilent(node, member, form, at.json)
    if (!(typeof silent === 'boolean' ? silent : yield* silent)) out.push(foundText(node, at))
    else if (isInspectedFile(member, at)) {
      const file = yield* foundFile(node, at)
      if (file !== undefined) out.push(file)
    }
  } else if (node.type === 'array') {
    lookAt(node.items.length, at.json)
    for (const [index, item] of node.items.entries())
      yield* sweepBelow(item, member, below(at, index), form, out)
  } else if (node.type === 'object') yield* sweepObject(node, member.name, at, form, out)
}

function isSilent(
  { value }: JsonStringNode,
  { name, holds }: Member,
  form: Form,
  { pace }: Source,
): Soon<boolean> {
  if (holds === 'text' || holds === 'texts' || form === TEXTS) return false
  if (holds === 'file') return isFile(value, pace)
  if (value === '') return holds !== 'inner' && holds !== 'result'
  return holds === undefined ? isWord(name, value) : isShaped(holds, value, pace)
}

// Objects that say by their type what they hold (blocks, parts, items) → entries, by a table of what an API knows.

import type { JsonNode } from '../json/json-text.js'
import { asString, expectNoText, folded, member, type JsonObjectNode } from '../json/members.js'
import { UnreadableForm } from '../json/unreadable-form.js'
import type { Entry } from './conversation.js'
import { callEntry, textEntry, withEchoes } from './entries.js'

export interface Grammar {
  /** Types that are known: an object of another one may hold no string that could be text. */
  readonly types: ReadonlySet<string>
  /** Members that hold such objects. Elsewhere (citations, errors) a type may be any. */
  readonly typed: ReadonlySet<string>
  /** Members whose strings are text. */
  readonly texts: ReadonlySet<string>
  /** Type → its one member more whose string is text. */
  readonly ownTexts: ReadonlyMap<string, string>
  /** Members that say what a tool is called with. */
  readonly calls: ReadonlySet<string>
  /** Members that are no prose, whatever stands below them: definitions of tools. */
  readonly opaque: ReadonlySet<string>
  /** Types that hold what a tool said. */
  readonly toolResults: ReadonlySet<string>
}

export interface Speaker {
  /** The body's text. */
  readonly json: string
  readonly role: string
  /** Of what a tool said. */
  readonly toolRole: string
}

/** name: of the member that holds the node. In the order of the body. */
export function typedEntries(
  node: JsonNode,
  name: string,
  speaker: Speaker,
  grammar: Grammar,
): readonly Entry[] {
  if (node.type === 'string') return grammar.texts.has(name) ? [textEntry(node, speaker.role)] : []
  if (node.type === 'array')
    return node.items.flatMap((item) => typedEntries(item, name, speaker, grammar))
  return node.type === 'object' ? objectEntries(node, name, speaker, grammar) : []
}

function objectEntries(
  object: JsonObjectNode,
  name: string,
  speaker: Speaker,
  grammar: Grammar,
): readonly Entry[] {
  const isTyped = grammar.typed.has(name)
  const type = typeOf(object, isTyped && !UNTYPED.has(name))
  if (isTyped && type !== undefined && !grammar.types.has(type)) {
    expectNoText(object, 'a part')
    return []
  }
  const isToolResult = type !== undefined && grammar.toolResults.has(type)
  const inner = isToolResult ? { ...speaker, role: speaker.toolRole } : speaker
  const entries = [...object.members].flatMap(([member, value]) => {
    expectSpelling(member, grammar)
    return memberEntries(value, member, type, inner, grammar)
  })
  return withEchoes(entries, object)
}

/** Members that hold objects without a type as well: what a shell said. */
const UNTYPED: ReadonlySet<string> = new Set(['output'])

function typeOf(object: JsonObjectNode, isRequired: boolean): string | undefined {
  const type = member(object, 'type')
  if (isRequired) return asString(type, 'the type of a part').value
  return type?.type === 'string' ? type.value : undefined
}

function memberEntries(
  node: JsonNode,
  name: string,
  type: string | undefined,
  speaker: Speaker,
  grammar: Grammar,
): readonly Entry[] {
  if (node.type === 'null' || grammar.opaque.has(name)) return []
  if (grammar.calls.has(name)) return [callEntry(node, speaker.json, name === 'arguments')]
  if (node.type === 'string' && type !== undefined && grammar.ownTexts.get(type) === name)
    return [textEntry(node, speaker.role)]
  return typedEntries(node, name, speaker, grammar)
}

/** Some servers take a member that differs in case alone for the one that they know. */
function expectSpelling(name: string, { texts, calls, typed }: Grammar): void {
  const known = folded(name)
  if (known !== name && [texts, calls, typed].some((names) => names.has(known)))
    throw new UnreadableForm(`a member is spelt otherwise than ${known}`)
}

// Reads the strings of an MCP message that webhooks see: every string that is not a setting at its place (places.ts).

import { type JsonNode, span } from '../../../kit/json/json-node.js'
import type { JsonObjectNode, JsonStringNode } from '../../../kit/json/members.js'
import { plainJson } from '../../../kit/json/print-json.js'
import { unitsOf, type Work } from '../../../kit/turns.js'
import type { Entry } from '../../llm/text/conversation.js'
import { sweepDefinitions } from '../../llm/text/definition.js'
import { foundFile, type FoundText, lookAt, type Source } from '../../llm/text/found-text.js'
import { entriesOf, numberedParts } from '../../llm/text/message.js'
import { isFile, isPlainName, isShaped } from '../../llm/text/shapes.js'
import { isContent, isSentBack, type McpPlace, PARAMS, TEXT } from './places.js'

/** The context of a value. */
export interface Around {
  readonly json: Source
  readonly role: string
  /** The object that has the value. */
  readonly place: McpPlace
  /** Members that define tools, prompts or resources. */
  readonly definitions?: ReadonlySet<string>
  readonly out: Entry[]
}

/** Reads a value. name: the member that it is, or an item of. */
export function* sweepValue(node: JsonNode, name: string, around: Around): Work<void> {
  const { pace } = around.json
  switch (node.type) {
    case 'string': {
      if (pace.isDue(unitsOf(node.value.length))) yield
      if (node.value === '' || (yield* isSilent(node, name, around))) return
      around.out.push(textOf(node, name, around))
      return
    }
    case 'array':
      lookAt(node.items.length, around.json)
      return yield* sweepItems(node.items, name, around)
    case 'object':
      return yield* sweepObject(node, { ...around, place: placeOf(name, around) })
    default:
      if (pace.isDue()) yield
  }
}

function* sweepItems(items: readonly JsonNode[], name: string, around: Around): Work<void> {
  const { json, out, place } = around
  const first = out.length
  for (const item of items) yield* sweepValue(item, name, around)
  if (isContent(place, name)) out.push(...numberedParts(json, out.splice(first)))
}

const placeOf = (name: string, { place }: Pick<Around, 'place'>): McpPlace =>
  place.inner.get(name) ?? place.each ?? TEXT

/** Reads the members of an object. around: with the object's own place. */
function* sweepObject(object: JsonObjectNode, around: Around): Work<void> {
  const { json, place } = around
  lookAt(object.members.size, json)
  if (json.pace.isDue(1 + object.members.size)) yield
  for (const name of object.members.keys())
    // A name can be text too, so the whole object is shown, as JSON.
    if (!isPlainName(name)) return void around.out.push(yield* jsonOf(object, around))
  const inner = withRole(object, around)
  for (const [name, value] of object.members) {
    if (around.definitions?.has(name) === true) {
      yield* sweepListed(value, name, around)
      continue
    }
    if (value.type === 'string' && isMedia(object, name, place))
      if (yield* isFile(value.value, json.pace)) {
        yield* sweepFile(value, inner)
        continue
      }
    yield* sweepValue(value, name, {
      json,
      out: around.out,
      role: name === 'systemPrompt' && place === PARAMS ? 'system' : inner.role,
      place: isEntered(object, name) ? TEXT : place,
    })
  }
}

/** Whether a member is base64: an image, audio, a file, or an icon in a data URL. */
const isMedia = ({ members }: JsonObjectNode, name: string, { files }: McpPlace): boolean =>
  files.has(name) && (name !== 'data' || members.has('mimeType'))

/** Whether a member is what a person has entered (ElicitResult). */
const isEntered = ({ members }: JsonObjectNode, name: string): boolean =>
  name === 'content' && members.has('action')

/** Reads a file, of which nothing is shown unless it is text and inspectFiles asks for it. */
function* sweepFile(node: JsonStringNode, { json, role, out }: Around): Work<void> {
  if (!json.inspects.files) return
  const file = yield* foundFile(node, { json, role, toolRole: role })
  if (file !== undefined) out.push(...(yield* entriesOf(json, [file])))
}

/** Reads definitions of tools, prompts or resources, of which nothing is shown unless inspectTools asks for it. */
function* sweepListed(node: JsonNode, name: string, { json, role, out }: Around): Work<void> {
  const found: FoundText[] = []
  yield* sweepDefinitions(node, name, { json, role, toolRole: role }, found)
  out.push(...(yield* entriesOf(json, found)))
}

/** Returns the context below an object of MCP with a role. */
function withRole(object: JsonObjectNode, around: Around): Around {
  if (!around.place.settings.has('role')) return around
  const role = object.members.get('role')
  return role?.type === 'string' && /^[\w-]{1,32}$/.test(role.value)
    ? { ...around, role: role.value }
    : around
}

/** Whether a string is a setting. */
function* isSilent(
  { value }: JsonStringNode,
  name: string,
  { place, json: { pace } }: Around,
): Work<boolean> {
  const setting = isShaped(place.settings.get(name), value, pace)
  return typeof setting === 'boolean' ? setting : yield* setting
}

/** What is sent back has no place: it is shown, and cannot be changed. */
const textOf = (node: JsonStringNode, name: string, { role, place }: Around): Entry => ({
  kind: 'text',
  role,
  content: node.value,
  form: 'string',
  ...(!isSentBack(place, name) && { place: span(node) }),
})

function* jsonOf(object: JsonObjectNode, { role, json, place }: Around): Work<Entry> {
  const content = yield* plainJson(object, json.text, json.pace)
  return {
    kind: 'text',
    role,
    content,
    form: 'json',
    isJson: true,
    ...(!(yield* hasSentBack(object, place, json)) && { place: span(object) }),
  }
}

/** Whether an object, or an object of MCP in it, has something that must be sent back. */
function* hasSentBack(node: JsonNode, place: McpPlace, json: Source): Work<boolean> {
  if (place === TEXT) return false
  if (json.pace.isDue()) yield
  if (node.type === 'array')
    for (const item of node.items) if (yield* hasSentBack(item, place, json)) return true
  if (node.type === 'object')
    for (const [name, value] of node.members)
      if (isSentBack(place, name) || (yield* hasSentBack(value, placeOf(name, { place }), json)))
        return true
  return false
}

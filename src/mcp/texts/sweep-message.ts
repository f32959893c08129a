// Reads the strings of an MCP message that webhooks see: every string that is not a setting. Data of tools and of
// people has no settings.

import { type JsonNode, span } from '../../json/json-node.js'
import type { JsonObjectNode, JsonStringNode } from '../../json/members.js'
import { plainJson } from '../../json/print-json.js'
import type { Entry } from '../../llm/text/conversation.js'
import { sweepDefinitions } from '../../llm/text/definition.js'
import { foundFile, type FoundText, lookAt, type Source } from '../../llm/text/found-text.js'
import { entriesOf } from '../../llm/text/message.js'
import { isFile, isPlainName, isShaped, type ShapeName } from '../../llm/text/shapes.js'
import { unitsOf, type Work } from '../../turns.js'

/**
 * What an object belongs to. envelope: a type of MCP, whose settings have known names. data: what a tool takes or
 * returns, or a person enters; every string is text. meta: _meta, where identifiers are settings whatever their names.
 */
type Area = 'envelope' | 'data' | 'meta'

/** The context of a value. */
export interface Around {
  readonly json: Source
  readonly role: string
  readonly area: Area
  /** Members that define tools, prompts or resources. */
  readonly definitions?: ReadonlySet<string>
  readonly out: Entry[]
}

/** Member → the area of its value, where it differs from that of its object. */
const AREAS: ReadonlyMap<string, Area> = new Map([
  ['arguments', 'data'],
  ['structuredContent', 'data'],
  ['data', 'data'],
  ['input', 'data'],
  ['_meta', 'meta'],
])

/** Settings of MCP's own types. */
const NAMES: Readonly<Partial<Record<ShapeName, string>>> = {
  word: 'role level audience action taskSupport theme status mode format',
  name: 'resultType cacheScope includeContext stopReason',
  date: 'protocolVersion lastModified lastUpdatedAt createdAt',
  id: `jsonrpc type id name version model method cursor nextCursor progressToken logger requestId taskId toolUseId elicitationId required $id $ref`,
  mime: 'mimeType',
  uri: 'uri uris url $schema uriTemplate',
  blob: 'requestState',
}
const SHAPE_OF: ReadonlyMap<string, ShapeName> = new Map(
  Object.entries(NAMES).flatMap(([shape, names]) =>
    names.split(/\s+/).map((name) => [name, shape as ShapeName] as const),
  ),
)

/** Whether a member of an object of MCP is base64: an image, audio, a file, or an icon in a data URL. */
const isMedia = ({ members }: JsonObjectNode, name: string): boolean =>
  name === 'blob' || name === 'src' || (name === 'data' && members.has('mimeType'))

/** Reads a value. name: the member that it is, or an item of. */
export function* sweepValue(node: JsonNode, name: string, around: Around): Work<void> {
  const { pace } = around.json
  switch (node.type) {
    case 'string': {
      if (pace.isDue(unitsOf(node.value.length))) yield
      if (node.value === '' || (yield* isSilent(node, name, around))) return
      around.out.push(textOf(node, around))
      return
    }
    case 'array':
      lookAt(node.items.length, around.json)
      for (const item of node.items) yield* sweepValue(item, name, around)
      return
    case 'object':
      return yield* sweepObject(node, around)
    default:
      if (pace.isDue()) yield
  }
}

function* sweepObject(object: JsonObjectNode, around: Around): Work<void> {
  const { json, area } = around
  lookAt(object.members.size, json)
  if (json.pace.isDue(1 + object.members.size)) yield
  for (const name of object.members.keys())
    // A name can be text too, so the whole object is shown, as JSON.
    if (!isPlainName(name)) return void around.out.push(yield* jsonOf(object, around))
  const inner = withRole(object, around)
  // The content that a person has entered (ElicitResult).
  const isEntered = area === 'envelope' && object.members.has('action')
  for (const [name, value] of object.members) {
    if (around.definitions?.has(name) === true) {
      yield* sweepListed(value, name, around)
      continue
    }
    const isEnvelope = area === 'envelope'
    if (isEnvelope && value.type === 'string' && isMedia(object, name))
      if (yield* isFile(value.value, json.pace)) {
        yield* sweepFile(value, inner)
        continue
      }
    const entered = isEntered && name === 'content' ? 'data' : undefined
    yield* sweepValue(value, name, {
      ...{ json, out: around.out },
      role: isEnvelope && name === 'systemPrompt' ? 'system' : inner.role,
      area: isEnvelope ? (entered ?? AREAS.get(name) ?? area) : area,
    })
  }
}

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
  if (around.area !== 'envelope') return around
  const role = object.members.get('role')
  return role?.type === 'string' && /^[\w-]{1,32}$/.test(role.value)
    ? { ...around, role: role.value }
    : around
}

/** Whether a string is a setting. */
function* isSilent(
  { value }: JsonStringNode,
  name: string,
  { area, json: { pace } }: Around,
): Work<boolean> {
  if (area === 'data') return false
  if (area === 'meta')
    return isShaped('id', value, pace) === true || isShaped('date', value, pace) === true
  const setting = isShaped(SHAPE_OF.get(name), value, pace)
  return typeof setting === 'boolean' ? setting : yield* setting
}

const textOf = (node: JsonStringNode, { role }: Around): Entry => ({
  kind: 'text',
  role,
  content: node.value,
  place: span(node),
  form: 'string',
})

function* jsonOf(node: JsonNode, { role, json }: Around): Work<Entry> {
  const content = yield* plainJson(node, json.text, json.pace)
  return { kind: 'text', role, content, place: span(node), form: 'json', isJson: true }
}

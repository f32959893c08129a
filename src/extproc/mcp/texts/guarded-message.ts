// Reads the JSON-RPC messages of an MCP body or event as webhooks see them: each with its subject and its texts.

import { LONGEST_NAME } from '../../../extauthz/mcp/message.js'
import { type JsonNode, type Span, span } from '../../../kit/json/json-node.js'
import type { JsonText } from '../../../kit/json/json-text.js'
import { asObject, type JsonObjectNode, member } from '../../../kit/json/members.js'
import { UnreadableForm } from '../../../kit/json/unreadable-form.js'
import { ownPart } from '../../../kit/own-text.js'
import { err, ok, type Result } from '../../../kit/result.js'
import type { Work } from '../../../kit/turns.js'
import type { Entry } from '../../llm/text/conversation.js'
import {
  type Inspects,
  INSPECTS_NEITHER,
  lookAt,
  type Source,
  sourceOf,
} from '../../llm/text/found-text.js'
import { isPlainName } from '../../llm/text/shapes.js'
import { ENVELOPE, TEXT } from './places.js'
import { type Around, sweepValue } from './sweep-message.js'

/** The subject of a message: body.tool in the webhooks' requests. */
export interface ToolOfMessage {
  /** Method of the request or notification; of an answer, that of its request. Absent: unknown. */
  readonly method?: string
  /** Name of the tool or prompt, or URI of the resource; absent: none. */
  readonly name?: string
}

/** A message as webhooks see it. */
export interface GuardedMessage {
  /** other: JSON that is not a JSON-RPC message, such as the error of a proxy. */
  readonly type: 'request' | 'notification' | 'response' | 'other'
  /** JSON text of its id; undefined: none. */
  readonly id: string | undefined
  readonly tool: ToolOfMessage
  readonly entries: readonly Entry[]
  readonly place: Span
}

/** A request whose answer may come. It is kept until then, so its texts are copies. */
export interface AskedCall {
  /** JSON text of its id. */
  readonly id: string
  readonly tool: ToolOfMessage
  /** Whether its result needs resultType (revision 2026-07-28). */
  readonly needsResultType: boolean
}

/** Requests by the value of their ids. A value that occurs twice is not in it. */
export type AskedCalls = ReadonlyMap<unknown, AskedCall>

/** Maximum number of messages in one body or event. */
const MOST_MESSAGES = 1000

interface Reader {
  readonly json: Source
  readonly text: string
  readonly from: 'client' | 'server'
  readonly asked: AskedCalls
}

/** Reads what the client sends. The error is a sentence without any text of the body. */
export const readClientMessages = (
  json: JsonText,
  inspects = INSPECTS_NEITHER,
): Work<Result<readonly GuardedMessage[], string>> =>
  readMessages(json, 'client', NOTHING_ASKED, inspects)

/** Reads what the server sends. asked: the requests that it may answer. */
export const readServerMessages = (
  json: JsonText,
  asked: AskedCalls,
  inspects = INSPECTS_NEITHER,
): Work<Result<readonly GuardedMessage[], string>> => readMessages(json, 'server', asked, inspects)

/** No calls: every answer belongs to none. */
export const NOTHING_ASKED: AskedCalls = new Map()

function* readMessages(
  { root, text }: JsonText,
  from: Reader['from'],
  asked: AskedCalls,
  inspects: Inspects,
): Work<Result<readonly GuardedMessage[], string>> {
  const reader = { json: sourceOf(text, inspects), text, from, asked }
  const nodes = root.type === 'array' ? root.items : [root]
  if (nodes.length > MOST_MESSAGES) return err('it has too many messages')
  const messages: GuardedMessage[] = []
  try {
    for (const node of nodes) messages.push(yield* readMessage(node, reader))
  } catch (error) {
    if (error instanceof UnreadableForm) return err(error.message)
    throw error
  }
  return ok(messages)
}

function* readMessage(node: JsonNode, reader: Reader): Work<GuardedMessage> {
  const { json, from, asked, text } = reader
  if (node.type === 'object') for (const name of PARTS) member(node, name)
  if (node.type !== 'object' || member(node, 'jsonrpc') === undefined)
    return yield* readOther(node, reader)
  const method = stringIn(node, 'method')
  const id = idOf(node, text)
  const type = method === undefined ? 'response' : id === undefined ? 'notification' : 'request'
  const call = id === undefined ? undefined : asked.get(JSON.parse(id))
  const tool = method === undefined ? (call?.tool ?? {}) : toolOf(node, method)
  const definitions = definitionsIn(from === 'client' ? '' : (tool.method ?? ''), type)
  const entries: Entry[] = []
  const around: Around = { json, role: roleOf(from, type, tool), place: ENVELOPE, out: entries }
  lookAt(node.members.size, json)
  for (const [name, value] of node.members) {
    if (!isPlainName(name)) throw new UnreadableForm('a member of a message has an odd name')
    yield* sweepValue(value, name, {
      ...around,
      ...(definitions && name !== 'error' && { definitions }),
    })
  }
  return { type, id, tool, entries, place: span(node) }
}

function* readOther(node: JsonNode, { json, from }: Reader): Work<GuardedMessage> {
  const entries: Entry[] = []
  const role = from === 'client' ? 'user' : 'tool'
  yield* sweepValue(node, '', { json, role, place: TEXT, out: entries })
  return { type: 'other', id: undefined, tool: {}, entries, place: span(node) }
}

/** Members of a message that contain its texts. Members of the first two may be definitions. */
const PARTS = ['params', 'result', 'error'] as const

/** Method → the member that defines tools, prompts or resources, in its result or (sampling) its parameters. */
const DEFINITIONS: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ['tools/list', new Set(['tools'])],
  ['prompts/list', new Set(['prompts'])],
  ['resources/list', new Set(['resources'])],
  ['resources/templates/list', new Set(['resourceTemplates'])],
  ['sampling/createMessage', new Set(['tools'])],
])

function definitionsIn(
  method: string,
  type: GuardedMessage['type'],
): ReadonlySet<string> | undefined {
  const isSampling = method === 'sampling/createMessage'
  return isSampling === (type === 'request') ? DEFINITIONS.get(method) : undefined
}

/** The role of texts whose object names none. */
function roleOf(
  from: Reader['from'],
  type: GuardedMessage['type'],
  { method }: ToolOfMessage,
): string {
  if (from === 'server') return 'tool'
  return type === 'request' && method === 'tools/call' ? 'tool_argument' : 'user'
}

/** Longer than the id of any request, even with all characters escaped. */
const LONGEST_ID = 4096

/** undefined: none, or null. @throws UnreadableForm when it is too long or of another type. */
function idOf(node: JsonObjectNode, text: string): string | undefined {
  const id = member(node, 'id')
  if (id === undefined || id.type === 'null') return undefined
  if ((id.type !== 'string' && id.type !== 'number') || id.end - id.start > LONGEST_ID)
    throw new UnreadableForm('the id of a message is neither a string nor a number')
  return text.slice(id.start, id.end)
}

function stringIn(node: JsonObjectNode, name: string): string | undefined {
  const value = member(node, name)
  if (value !== undefined && value.type !== 'string')
    throw new UnreadableForm(`${name} is not a string`)
  return value && short(value.value, name)
}

/** @throws UnreadableForm for a name that is too long; one of a client has been refused before. */
function short(text: string, name: string): string {
  if (text.length > LONGEST_NAME) throw new UnreadableForm(`${name} is too long`)
  return text
}

function toolOf(node: JsonObjectNode, method: string): ToolOfMessage {
  const params = member(node, 'params')
  if (params?.type !== 'object') return { method }
  const name = method.startsWith('resources/')
    ? textIn(params, 'uri')
    : NAMED.has(method)
      ? textIn(params, 'name')
      : undefined
  return { method, ...(name !== undefined && { name }) }
}

const NAMED: ReadonlySet<string> = new Set(['tools/call', 'prompts/get'])

function textIn(node: JsonObjectNode, name: string): string | undefined {
  const value = member(node, name)
  return value?.type === 'string' ? short(value.value, name) : undefined
}

/** Returns the requests among a client's messages. */
export function askedCalls(json: JsonText): AskedCalls {
  const nodes = json.root.type === 'array' ? json.root.items : [json.root]
  const asked = new Map<unknown, AskedCall>()
  const twice = new Set<unknown>()
  for (const node of nodes) {
    const message = asObject(node, 'a message')
    const [method, id] = [stringIn(message, 'method'), idOf(message, json.text)]
    if (method === undefined || id === undefined) continue
    const value: unknown = JSON.parse(id)
    if (asked.has(value)) twice.add(value)
    const own = (text: string): string => ownPart(text, json.text)
    const { name } = toolOf(message, method)
    const tool = { method: own(method), ...(name !== undefined && { name: own(name) }) }
    asked.set(value, { id: own(id), tool, needsResultType: hasVersion(message) })
  }
  for (const value of twice) asked.delete(value)
  return asked
}

/** Characters that awaited answers may keep like anything else of an open stream. */
const FEW = 4096
/** Bytes of a character, and of an awaited answer beside its texts. */
const [CHARACTER, CALL] = [2, 256]

/** Returns the bytes that awaited answers keep beyond what belongs to any open stream. */
export function keptBytes(asked: AskedCalls): number {
  let characters = 0
  for (const { id, tool } of asked.values())
    characters += id.length + (tool.method?.length ?? 0) + (tool.name?.length ?? 0)
  return characters <= FEW ? 0 : characters * CHARACTER + asked.size * CALL
}

const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion'

/** Whether the message names its revision, as those of 2026-07-28 and later do. */
function hasVersion(message: JsonObjectNode): boolean {
  const params = member(message, 'params')
  const meta = params?.type === 'object' ? member(params, '_meta') : undefined
  return meta?.type === 'object' && member(meta, VERSION_KEY) !== undefined
}

// Reads one JSON-RPC message of MCP into what rules can ask about. A member that another reader could understand
// differently (another case, another type) is an error.

import type { JsonNode } from '../../kit/json/json-node.js'
import { isExact, type JsonObjectNode, member, present } from '../../kit/json/members.js'
import { McpProblem, type MessageId, NO_ID } from './mcp-problem.js'
import type { ResourceForm } from './resource-uri.js'

/** What rules are asked about: a message or, if it names several resources, each of them. */
export interface McpCall {
  /** "": a response, or no message. */
  readonly method: string
  readonly toolName: string
  /** An object; undefined: none. */
  readonly toolArguments: JsonNode | undefined
  readonly promptName: string
  readonly resourceUri: string
  readonly resourceForm: ResourceForm
}

/** A JSON-RPC message. */
export interface McpMessage {
  readonly type: 'request' | 'notification' | 'response'
  readonly id: MessageId
  /** "": a response. */
  readonly method: string
  /** Version in _meta or initialize; "": none. */
  readonly protocolVersion: string
  /** Version in _meta alone, which later revisions require. */
  readonly metaVersion: string | undefined
  /** The name that the header Mcp-Name repeats; undefined: none. */
  readonly name: string | undefined
  /** At least one. */
  readonly calls: readonly McpCall[]
}

/** A call without members, the base of all others. */
export const NO_CALL: McpCall = {
  method: '',
  toolName: '',
  toolArguments: undefined,
  promptName: '',
  resourceUri: '',
  resourceForm: 'none',
}

/**
 * Maximum length of a method, and of a name or a URI that a message is about. They are repeated in logs, spans and each
 * question to a webhook, and kept while answers are awaited.
 */
export const LONGEST_NAME = 16 * 1024
/** Maximum length of an id, as written in JSON: ids are repeated in errors, and compared. */
const MAX_ID = 256
const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion'

/** text: the text that node was read from. @throws McpProblem, UnreadableForm. */
export function readMessage(node: JsonNode, text: string): McpMessage {
  if (node.type !== 'object') throw invalid('a message is not an object')
  const id = idOf(node, text)
  try {
    return readObject(node, id)
  } catch (error) {
    throw error instanceof McpProblem ? error.of(id ?? NO_ID) : error
  }
}

const invalid = (message: string): McpProblem => new McpProblem('invalid-request', message)
const badParams = (message: string): McpProblem => new McpProblem('invalid-params', message)

/** Returns the id; undefined: none. MCP forbids null. */
function idOf(node: JsonObjectNode, text: string): MessageId | undefined {
  const id = member(node, 'id')
  if (id === undefined) return undefined
  if (id.type !== 'string' && id.type !== 'number') {
    if (id.type === 'null' && member(node, 'error') !== undefined) return NO_ID
    throw invalid('id is neither a string nor a number')
  }
  if (id.end - id.start > MAX_ID) throw invalid('id is too long')
  const written = text.slice(id.start, id.end)
  if (!(id.type === 'string' ? isExact(id.value) : isWhole(Number(written))))
    throw invalid('id is neither a whole number of 64 bits nor a text of whole characters')
  return written
}

/** Whether servers that keep ids as int64 keep it as it is; others may round it, which all readers do alike. */
const isWhole = (id: number): boolean => Number.isInteger(id) && Math.abs(id) < 2 ** 63

function readObject(node: JsonObjectNode, id: MessageId | undefined): McpMessage {
  if (textOf(member(node, 'jsonrpc')) !== '2.0') throw invalid('jsonrpc is not "2.0"')
  const method = member(node, 'method')
  const answers = [member(node, 'result'), member(node, 'error')].filter(isThere).length
  if (method === undefined) return readResponse(answers, id)
  if (answers > 0) throw invalid('a message has a method and an answer')
  const name = textOf(method)
  if (name === undefined || name === '') throw invalid('method is no name')
  if (name.length > LONGEST_NAME) throw invalid('method is too long')
  if (!isExact(name)) throw invalid('method is no name')
  const params = paramsOf(node)
  const meta = params && objectOf(present(member(params, '_meta')), '_meta')
  const metaVersion = meta && optionalText(member(meta, VERSION_KEY), VERSION_KEY)
  return {
    type: id === undefined ? 'notification' : 'request',
    id: id ?? NO_ID,
    method: name,
    protocolVersion: metaVersion ?? initializeVersion(name, params) ?? '',
    metaVersion,
    name: params && nameOf(name, params),
    calls: callsOf(name, params),
  }
}

const isThere = (node: JsonNode | undefined): boolean => node !== undefined

function readResponse(answers: number, id: MessageId | undefined): McpMessage {
  if (answers !== 1 || id === undefined)
    throw invalid('a message has neither a method nor an answer')
  return {
    type: 'response',
    id,
    method: '',
    protocolVersion: '',
    metaVersion: undefined,
    name: undefined,
    calls: [NO_CALL],
  }
}

const textOf = (node: JsonNode | undefined): string | undefined =>
  node?.type === 'string' ? node.value : undefined

function paramsOf(node: JsonObjectNode): JsonObjectNode | undefined {
  return objectOf(present(member(node, 'params')), 'params')
}

function objectOf(node: JsonNode | undefined, what: string): JsonObjectNode | undefined {
  if (node !== undefined && node.type !== 'object') throw badParams(`${what} is not an object`)
  return node
}

function optionalText(node: JsonNode | undefined, what: string): string | undefined {
  if (node !== undefined && node.type !== 'string') throw badParams(`${what} is not a string`)
  return node?.value
}

function requiredText(params: JsonObjectNode | undefined, name: string, method: string): string {
  const value = textOf(params && member(params, name))
  if (value === undefined) throw badParams(`${method} needs the string ${name}`)
  return exact(value, name)
}

function exact(value: string, what: string): string {
  expectShort(value, what)
  if (!isExact(value)) throw badParams(`${what} has a NUL or half a character`)
  return value
}

function expectShort(value: string, what: string): void {
  if (value.length > LONGEST_NAME) throw badParams(`${what} is too long`)
}

const initializeVersion = (
  method: string,
  params: JsonObjectNode | undefined,
): string | undefined =>
  method === 'initialize' && params !== undefined
    ? optionalText(member(params, 'protocolVersion'), 'protocolVersion')
    : undefined

/** Tasks are named by their ids (extension "Tasks", binding to Streamable HTTP). */
function nameOf(method: string, params: JsonObjectNode): string | undefined {
  const name = nameIn(method, params)
  if (name !== undefined) expectShort(name, 'a name')
  return name
}

function nameIn(method: string, params: JsonObjectNode): string | undefined {
  if (method.startsWith('tasks/')) return textOf(member(params, 'taskId'))
  const uri = textOf(member(params, 'uri'))
  return method.startsWith('resources/') ? uri : (textOf(member(params, 'name')) ?? uri)
}

function callsOf(method: string, params: JsonObjectNode | undefined): readonly McpCall[] {
  const call = { ...NO_CALL, method }
  switch (method) {
    case 'tools/call':
      return [
        {
          ...call,
          toolName: requiredText(params, 'name', method),
          toolArguments: params && objectOf(present(member(params, 'arguments')), 'arguments'),
        },
      ]
    case 'prompts/get':
      return [{ ...call, promptName: requiredText(params, 'name', method) }]
    case 'resources/read':
    case 'resources/subscribe':
    case 'resources/unsubscribe':
      return [ofResource(call, requiredText(params, 'uri', method))]
    case 'completion/complete':
      return [{ ...call, ...referenceOf(params) }]
    case 'subscriptions/listen':
      return listenedTo(params).map((uri) => (uri === undefined ? call : ofResource(call, uri)))
    default:
      return [call]
  }
}

const ofResource = (call: McpCall, resourceUri: string): McpCall => ({
  ...call,
  resourceUri,
  resourceForm: 'uri',
})

/** Returns what a completion is for: a PromptReference or a ResourceTemplateReference. */
function referenceOf(params: JsonObjectNode | undefined): Partial<McpCall> {
  const ref = objectOf(params && member(params, 'ref'), 'ref')
  switch (textOf(ref && member(ref, 'type'))) {
    case 'ref/prompt':
      return { promptName: requiredText(ref, 'name', 'ref/prompt') }
    case 'ref/resource':
      return { resourceUri: requiredText(ref, 'uri', 'ref/resource'), resourceForm: 'template' }
    default:
      throw badParams('ref is neither of a prompt nor of a resource')
  }
}

/** Returns SubscriptionFilter.resourceSubscriptions, or undefined once if there are none. */
function listenedTo(params: JsonObjectNode | undefined): readonly (string | undefined)[] {
  const filter = objectOf(params && present(member(params, 'notifications')), 'notifications')
  const list = filter && present(member(filter, 'resourceSubscriptions'))
  if (list === undefined) return NOTHING
  if (list.type !== 'array') throw badParams('resourceSubscriptions is not a list')
  const uris = list.items.map((item) => {
    if (item.type !== 'string')
      throw badParams('resourceSubscriptions has other items than strings')
    return exact(item.value, 'resourceSubscriptions')
  })
  return uris.length === 0 ? NOTHING : uris
}

const NOTHING = [undefined]

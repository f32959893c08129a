// Reads an HTTP request on an MCP route into the calls that rules are asked about (Streamable HTTP, all revisions).

import { type JsonText, readJsonInTurns } from '../json/json-text.js'
import { UnreadableForm } from '../json/unreadable-form.js'
import { err, ok, type Result } from '../result.js'
import type { Work } from '../turns.js'
import { assertAgreement, type HttpHeaderValues } from './header-agreement.js'
import { McpProblem, type MessageId, NO_ID } from './mcp-problem.js'
import { type McpCall, type McpMessage, NO_CALL, readMessage } from './message.js'

/** Headers that are read here. */
export const MCP_HEADERS: readonly string[] = [
  'content-type',
  'content-encoding',
  'content-length',
  'upgrade',
  'mcp-method',
  'mcp-name',
  'mcp-protocol-version',
]

/** An HTTP request on an MCP route. */
export interface HttpMessage {
  readonly method: string
  readonly headers: HttpHeaderValues
  /** The whole body. */
  readonly body: Uint8Array
}

/** A call, and the message that it is from. */
export interface ReadCall extends McpCall {
  /** JSON text of the id. */
  readonly id: MessageId
  readonly protocolVersion: string
  /** The text that toolArguments points into. */
  readonly text: string
}

/** The calls of a request. */
export interface McpRequest {
  /** Id for the answer; null for a batch, and where there is no message. */
  readonly id: MessageId
  /** At least one; each must be allowed. */
  readonly calls: readonly ReadCall[]
  /** The body; absent: there is none. */
  readonly json?: JsonText
}

/** GET, DELETE and every other request without a body. */
const NO_MESSAGE: McpRequest = {
  id: NO_ID,
  calls: [{ ...NO_CALL, id: NO_ID, protocolVersion: '', text: '' }],
}

/** Reads a request, a large body in slices. The problem is to be answered with 400. */
export function* readMcpRequest(http: HttpMessage): Work<Result<McpRequest, McpProblem>> {
  try {
    if (http.method !== 'POST') return ok(withoutBody(http))
    assertForm(http)
    const json = yield* readJsonInTurns(http.body)
    if (!json.ok) throw new McpProblem('parse-error', `The body is not read: ${json.error}`)
    return ok(readRoot(json.value, http.headers))
  } catch (error) {
    if (error instanceof McpProblem) return err(error)
    if (error instanceof UnreadableForm)
      return err(new McpProblem('invalid-request', error.message))
    throw error
  }
}

function withoutBody({ method, headers, body }: HttpMessage): McpRequest {
  if (body.length > 0 || Number(headers.get('content-length') ?? 0) !== 0)
    throw new McpProblem('invalid-request', `In MCP, ${method} has no body`)
  if (headers.has('upgrade')) throw new McpProblem('invalid-request', 'Upgrades are refused here')
  return NO_MESSAGE
}

/** Throws unless every reader of the body gets the same bytes and characters as Gatehouse. */
function assertForm({ headers, body }: HttpMessage): void {
  const type = headers.get('content-type')
  if (typeof type !== 'string' || !JSON_TYPE.test(type))
    throw new McpProblem(
      'invalid-request',
      'One Content-Type is expected: application/json in UTF-8',
    )
  const encoding = headers.get('content-encoding')
  if (encoding !== undefined && encoding !== 'identity')
    throw new McpProblem('invalid-request', 'Compressed bodies are not read')
  if (headers.has('upgrade')) throw new McpProblem('invalid-request', 'Upgrades are refused here')
  if (body.length === 0) throw new McpProblem('parse-error', 'The body is empty')
  const length = headers.get('content-length')
  if (length !== undefined && length !== String(body.length))
    throw new McpProblem('parse-error', 'The body is not all of it')
}

const JSON_TYPE = /^application\/json(?:[ \t]*;[ \t]*charset="?utf-?8"?)?[ \t]*(?:;[ \t]*)?$/i

function readRoot(json: JsonText, headers: HttpHeaderValues): McpRequest {
  const { root, text } = json
  if (root.type !== 'array') {
    const message = readMessage(root, text)
    assertAgreement(message, headers)
    return { id: message.id, calls: atMost(callsOf(message, text)), json }
  }
  if (root.items.length > MOST_CALLS) throw tooMany()
  const messages = root.items.map((item) => readMessage(item, text))
  assertBatch(messages, headers)
  const calls = atMost(messages.flatMap((message) => callsOf(message, text)))
  return { id: NO_ID, calls, json }
}

/** Maximum number of calls in one request. All of them are read, and judged, without a pause. */
const MOST_CALLS = 1000
const tooMany = (): McpProblem =>
  new McpProblem(
    'invalid-request',
    `A request has at most ${String(MOST_CALLS)} messages, and names at most as many resources`,
  )

function atMost(calls: readonly ReadCall[]): readonly ReadCall[] {
  if (calls.length > MOST_CALLS) throw tooMany()
  return calls
}

const callsOf = ({ calls, id, protocolVersion }: McpMessage, text: string): readonly ReadCall[] =>
  calls.map((call) => ({ ...call, id, protocolVersion, text }))

/** The only revision with batches, and that of clients that name none ("Protocol Version Header"). */
const BATCHES = '2025-03-26'

function assertBatch(messages: readonly McpMessage[], headers: HttpHeaderValues): void {
  if (messages.length === 0) throw new McpProblem('invalid-request', 'The batch is empty')
  const version = headers.get('mcp-protocol-version') ?? BATCHES
  const versions = new Set(messages.map(({ protocolVersion }) => protocolVersion).filter(Boolean))
  if (version !== BATCHES || (versions.size > 0 && !(versions.size === 1 && versions.has(BATCHES))))
    throw new McpProblem('invalid-request', `Batches are for protocol version ${BATCHES} alone`)
  for (const name of ['mcp-method', 'mcp-name'])
    if (headers.has(name))
      throw new McpProblem('header-mismatch', `Header mismatch: ${name} of a batch`)
}

// Reads an HTTP request on an MCP route into the calls that rules are asked about (Streamable HTTP, all revisions).

import { ILL_FORMED, type JsonText, readJsonInTurns } from '../../kit/json/json-text.js'
import { UnreadableForm } from '../../kit/json/unreadable-form.js'
import { err, ok, type Result } from '../../kit/result.js'
import type { Work } from '../../kit/turns.js'
import { decodedHeader, type HttpHeaderValues, isAscii } from './header-values.js'
import { McpProblem, type MessageId, NO_ID } from './mcp-problem.js'
import { type McpCall, type McpMessage, NO_CALL, readMessage } from './message.js'
import { assertParams, PARAM_PREFIX } from './param-headers.js'

/** Headers that are read here, beside those that begin with PARAM_PREFIX. */
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
    return ok(yield* readRoot(json.value, http.headers))
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
    throw new McpProblem('invalid-request', UNREAD_ENCODING)
  if (headers.has('upgrade')) throw new McpProblem('invalid-request', 'Upgrades are refused here')
  if (body.length === 0) throw new McpProblem('parse-error', 'The body is empty')
  const length = headers.get('content-length')
  if (length !== undefined && length !== String(body.length))
    throw new McpProblem('parse-error', 'The body is not all of it')
}

/** Why a body with a Content-Encoding is not read; what can be decoded has been, wherever Gatehouse holds the body. */
export const UNREAD_ENCODING =
  'The body cannot be read in its Content-Encoding; send it without one, or whole in one of gzip, deflate, br and zstd'

const JSON_TYPE = /^application\/json(?:[ \t]*;[ \t]*charset="?utf-?8"?)?[ \t]*(?:;[ \t]*)?$/i

function* readRoot(json: JsonText, headers: HttpHeaderValues): Work<McpRequest> {
  const { root, text } = json
  if (root.type !== 'array') {
    const message = readMessage(root, text)
    if (!json.isWellFormed) throw illFormed(message.id)
    assertAgreement(message, headers)
    yield* assertParams(message, headers, text)
    return { id: message.id, calls: atMost(callsOf(message, text)), json }
  }
  if (root.items.length > MOST_CALLS) throw tooMany()
  const messages = root.items.map((item) => readMessage(item, text))
  if (!json.isWellFormed) throw illFormed()
  assertBatch(messages, headers)
  const calls = atMost(messages.flatMap((message) => callsOf(message, text)))
  return { id: NO_ID, calls, json }
}

const illFormed = (id?: MessageId): McpProblem =>
  new McpProblem('invalid-request', `The body is not read: ${ILL_FORMED}`, id)

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
  for (const name of headers.keys())
    if (name === 'mcp-method' || name === 'mcp-name' || name.startsWith(PARAM_PREFIX))
      throw new McpProblem('header-mismatch', `Header mismatch: ${name} of a batch`)
}

// Checks the headers that repeat parts of a message (revision 2026-07-28, basic/transports/streamable-http, "Request
// Metadata"): a server that trusts them and one that trusts the body would do different things.

/** Versions that do not define or do not require these headers. Any other version is treated as 2026-07-28 or later. */
const WITHOUT_DEMANDS: ReadonlySet<string> = new Set([
  '2024-10-07',
  '2024-11-05',
  '2025-03-26',
  '2025-06-18',
  '2025-11-25',
])

/** Methods whose requests require Mcp-Name. */
const NAMED: ReadonlySet<string> = new Set(['tools/call', 'resources/read', 'prompts/get'])

/**
 * @throws McpProblem when a header is missing that the message's version requires, or when one contradicts the message.
 */
function assertAgreement(message: McpMessage, headers: HttpHeaderValues): void {
  const version = single(headers, 'mcp-protocol-version', message)
  const method = single(headers, 'mcp-method', message)
  const name = single(headers, 'mcp-name', message)
  const { metaVersion, protocolVersion } = message
  const hasVersion = metaVersion !== undefined || protocolVersion !== ''
  if (hasVersion && version !== undefined && version !== protocolVersion)
    throw mismatch(message, 'MCP-Protocol-Version is not the version of the body')
  if (method !== undefined && method !== message.method)
    throw mismatch(message, 'Mcp-Method is not the method of the body')
  if (name !== undefined && decodedHeader(name) === undefined)
    throw mismatch(message, 'Mcp-Name is no base64 of UTF-8')
  if (name !== undefined && decodedHeader(name) !== message.name)
    throw mismatch(message, 'Mcp-Name is not the name of the body')
  if (message.type === 'request' && isDemanding(message.metaVersion ?? version))
    assertComplete(message, { version, method, name })
}

const isDemanding = (version: string | undefined): boolean =>
  version !== undefined && !WITHOUT_DEMANDS.has(version)

interface Repeated {
  readonly version: string | undefined
  readonly method: string | undefined
  readonly name: string | undefined
}

function assertComplete(message: McpMessage, { version, method, name }: Repeated): void {
  if (version === undefined) throw mismatch(message, 'MCP-Protocol-Version is missing')
  if (message.metaVersion === undefined)
    throw mismatch(message, 'MCP-Protocol-Version is there and the version in _meta is missing')
  if (method === undefined) throw mismatch(message, 'Mcp-Method is missing')
  if (name === undefined && NAMED.has(message.method))
    throw mismatch(message, 'Mcp-Name is missing')
}

const mismatch = ({ id }: McpMessage, what: string): McpProblem =>
  new McpProblem('header-mismatch', `Header mismatch: ${what}`, id)

function single(headers: HttpHeaderValues, name: string, message: McpMessage): string | undefined {
  const value = headers.get(name)
  if (value === undefined) return undefined
  if (typeof value !== 'string') throw mismatch(message, `${name} is there twice`)
  if (!isAscii(value)) throw mismatch(message, `${name} has other characters than ASCII's`)
  return value
}

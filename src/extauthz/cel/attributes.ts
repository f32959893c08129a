// What expressions can read of a request: the variables jwt, request, source, mcp and llmRequest, each converted to CEL
// values at first use.

import type { Json, JsonObject } from '../../model/json.js'
import { mayBeRounded, parseJsonText } from './json-text.js'
import { markRepeated } from './repeated-headers.js'
import { type CelValue, toCelValue } from './values.js'

/** The variables, each with its members; undefined: any member. */
export const ROOT_MEMBERS: Readonly<Record<Root, ReadonlySet<string> | undefined>> = {
  jwt: undefined,
  llmRequest: undefined,
  request: new Set([
    'method',
    'uri',
    'host',
    'scheme',
    'path',
    'pathAndQuery',
    'version',
    'headers',
  ]),
  source: new Set(['address', 'port']),
  mcp: new Set([
    'method',
    'id',
    'protocolVersion',
    'tool',
    'prompt',
    'resource',
    'tool.name',
    'tool.arguments',
    'prompt.name',
    'resource.uri',
  ]),
}

/** Members of mcp that have members of their own. */
export const MCP_PARTS: ReadonlySet<string> = new Set(['tool', 'prompt', 'resource'])

/** The variables of expressions. */
export type Root = 'jwt' | 'llmRequest' | 'mcp' | 'request' | 'source'

/** The variables, in the order in which messages name them. */
export const ROOTS: readonly Root[] = ['jwt', 'request', 'source', 'mcp', 'llmRequest']

/** JSON that is converted to CEL once, when a rule first reads it; claims live as long as their token is remembered. */
export interface LazyValue<T extends Json = Json> {
  readonly json: T
  /** The text that json was read from, if json may have rounded numbers. */
  readonly exact?: string | undefined
  /** @throws CelLimitError when it is nested too deeply. */
  celValue(): CelValue
  /** Returns a value that has at least these members. Absent: see celValue. @throws as celValue. */
  withMembers?(names: ReadonlySet<string>): CelValue
}

/** A value that is read member by member, as it is too large to convert unless all of it is read. */
export interface MemberValue {
  /** @throws CelLimitError when it is nested too deeply, or exceeds the evaluation's budget. */
  celValue(): CelValue
  /** undefined: no such member. @throws as celValue. */
  member?(name: string): CelValue | undefined
}

/** The variable request. */
export interface RequestAttributes {
  readonly method: string
  /** As sent, including any port. */
  readonly host: string
  readonly scheme: string
  /** Includes the query. */
  readonly pathAndQuery: string
  /** "HTTP/1.1", "HTTP/2". */
  readonly version: string
  /** By lower-case name; several values in the order sent. Headers that the rules do not name may be absent. */
  readonly headers: ReadonlyMap<string, string | readonly string[]>
  /** Returns the values of one header, where that is less work than to read all. Absent: see headers. */
  valuesOf?(name: string): readonly string[]
}

/** One MCP message, as in its body; "" for what it does not contain. */
export interface McpAttributes {
  readonly method: string
  readonly id: string | bigint | number | null
  readonly protocolVersion: string
  readonly toolName: string
  /** A map, made when an expression reads it. @throws CelLimitError beyond the evaluation's budget. */
  toolArguments(): CelValue
  readonly promptName: string
  readonly resourceUri: string
}

/** The variable source. */
export interface SourceAttributes {
  /** An IP address without a port. */
  readonly address: string
  readonly port: number
}

/** Absent parts are null in CEL: `jwt.sub` is then an error, `jwt == null` true. */
export interface Attributes {
  readonly request?: RequestAttributes
  readonly jwt?: LazyValue | undefined
  readonly llmRequest?: MemberValue | undefined
  readonly mcp?: McpAttributes | undefined
  readonly source?: SourceAttributes | undefined
}

/** text: what json was read from; with it, whole numbers beyond 2^53 stay exact. */
export const lazyValue = <T extends Json>(json: T, text?: string): LazyValue<T> =>
  new ConvertedOnce(json, text !== undefined && mayBeRounded(text) ? text : undefined)

class ConvertedOnce<T extends Json> implements LazyValue<T> {
  readonly json: T
  readonly exact: string | undefined
  #whole: CelValue | undefined
  /** Members that were read so far. */
  #members: Map<string, CelValue> | undefined

  constructor(json: T, exact: string | undefined) {
    this.json = json
    this.exact = exact
  }

  celValue(): CelValue {
    this.#whole ??= this.exact === undefined ? toCelValue(this.json) : parseJsonText(this.exact)
    return this.#whole
  }

  withMembers(names: ReadonlySet<string>): CelValue {
    const { json } = this
    if (this.#whole !== undefined || this.exact !== undefined || !isObject(json))
      return this.celValue()
    this.#members ??= new Map()
    for (const name of names)
      if (!this.#members.has(name) && Object.hasOwn(json, name))
        this.#members.set(name, toCelValue(json[name] ?? null, 1))
    return this.#members
  }
}

const isObject = (json: Json): json is JsonObject =>
  typeof json === 'object' && json !== null && !Array.isArray(json)

/** Returns the value of a variable; undefined: reading it fails. members: those that the expression reads; "*": all. */
export function attributeValue(
  attributes: Attributes,
  root: Root,
  members: ReadonlySet<string>,
): CelValue | McpValue | undefined {
  switch (root) {
    case 'jwt':
      return attributes.jwt === undefined ? null : readClaims(attributes.jwt, members)
    case 'llmRequest':
      return attributes.llmRequest === undefined
        ? null
        : readMembers(attributes.llmRequest, members)
    case 'mcp':
      return attributes.mcp && mcpValue(attributes.mcp)
    case 'request':
      return attributes.request === undefined ? null : requestValue(attributes.request)
    case 'source':
      return attributes.source === undefined ? null : sourceValue(attributes.source)
  }
}

const readClaims = (claims: LazyValue, members: ReadonlySet<string>): CelValue =>
  claims.withMembers === undefined || members.has('*')
    ? claims.celValue()
    : claims.withMembers(members)

function readMembers(value: MemberValue, members: ReadonlySet<string>): CelValue {
  if (value.member === undefined || members.has('*')) return value.celValue()
  const read = new Map<string, CelValue>()
  for (const name of members) {
    const member = value.member(name)
    if (member !== undefined) read.set(name, member)
  }
  return read
}

/** Cached for all rules of a request. */
const requestValues = new WeakMap<RequestAttributes, CelValue>()

function requestValue(request: RequestAttributes): CelValue {
  const known = requestValues.get(request)
  if (known !== undefined) return known
  markRepeated(request.headers)
  const value = convertRequest(request)
  requestValues.set(request, value)
  return value
}

function convertRequest(request: RequestAttributes): CelValue {
  const query = request.pathAndQuery.indexOf('?')
  return new Map<string, CelValue>([
    ['method', request.method],
    ['host', hostName(request.host)],
    ['scheme', request.scheme],
    ['path', query < 0 ? request.pathAndQuery : request.pathAndQuery.slice(0, query)],
    ['pathAndQuery', request.pathAndQuery],
    ['uri', `${request.scheme}://${request.host}${request.pathAndQuery}`],
    ['version', request.version],
    ['headers', request.headers],
  ])
}

/** Returns the host as Envoy matches it with routes: in lower case, without a port or a trailing dot. */
function hostName(authority: string): string {
  const lower = authority.toLowerCase()
  const colon = lower.lastIndexOf(':')
  const name = colon < 0 || lower.indexOf(']', colon) >= 0 ? lower : lower.slice(0, colon)
  return name.endsWith('.') ? name.slice(0, -1) : name
}

/** Has the type that environment.ts declares. Arguments are converted when an expression first reads them. */
type McpValue = Readonly<Record<string, unknown>>

function mcpValue(mcp: McpAttributes): McpValue {
  let toolArguments: CelValue | undefined
  return {
    method: mcp.method,
    id: mcp.id,
    protocolVersion: mcp.protocolVersion,
    tool: {
      name: mcp.toolName,
      get arguments() {
        toolArguments ??= mcp.toolArguments()
        return toolArguments
      },
    },
    prompt: { name: mcp.promptName },
    resource: { uri: mcp.resourceUri },
  }
}

const sourceValue = (source: SourceAttributes): CelValue =>
  new Map<string, CelValue>([
    ['address', source.address],
    ['port', BigInt(source.port)],
  ])

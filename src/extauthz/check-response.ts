// Encodes a Decision as an envoy.service.auth.v3.CheckResponse, by hand, so that the answer that allows a remembered
// token is encoded only once. A test compares it with the generated encoder.

import { REQUEST_ID } from '../kit/request-id.js'
import type { Json, JsonObject } from '../model/json.js'
import {
  AUDIT_REASON_KEY,
  CLAIMS_KEY,
  EXACT_CLAIMS_KEY,
  LIMIT_KEYS_KEY,
  LIST_REQUEST_KEY,
  PARTIAL_BODY_HEADER,
  REASON_KEY,
  SEAL_HEADERS,
  SESSION_KEY,
} from '../model/names.js'
import { BackwardWriter } from '../wire/grpc/backward-writer.js'
import type { LazyValue } from './cel/attributes.js'
import type { CheckReply, Decision, Reason } from './decision.js'
import { type OpenedSession, SESSION_HEADER } from './oauth/session-seal.js'
import type { RememberedToken } from './token/token-memory.js'
import type { ValuesForEnvoy } from './values-for-envoy.js'

/** google.rpc.Code by HTTP status; Envoy logs it. */
const RPC_CODES = { 400: 3, 401: 16, 403: 7, 404: 5, 413: 8, 500: 13, 503: 14 } as const
/** HeaderValueOption.append_action; the default would append to existing values. */
const OVERWRITE_IF_EXISTS_OR_ADD = 2

/** Headers to which Envoy or Gatehouse gives a meaning; a client's copies are removed (decision 6). */
const NEVER_FROM_CLIENTS = ['x-gatehouse-route', PARTIAL_BODY_HEADER, 'x-envoy-original-path']

/**
 * forwardToken: whether the backend gets Authorization; true without authentication. seal: as in AuthzEntry. requestId:
 * returns what a denied client gets; undefined: nothing.
 */
export function encodeDecision(
  decision: Decision,
  forwardToken: boolean,
  seal?: string,
  requestId?: () => string | undefined,
): Uint8Array {
  if (decision.type === 'reply') return encodeReply(decision.reply, decision.reason, requestId?.())
  if (seal !== undefined)
    return encodeAllow(forwardToken, decision.token?.claims, { ...decision, seal })
  if (isOfOneRequest(decision)) return encodeAllow(forwardToken, decision.token?.claims, decision)
  if (decision.token !== undefined) return encodeVerified(decision.token, forwardToken)
  return forwardToken ? ANONYMOUS_KEPT : ANONYMOUS_REMOVED
}

function encodeVerified(
  { allowed, claims, isKept }: RememberedToken,
  forwardToken: boolean,
): Uint8Array {
  const form = forwardToken ? 'kept' : 'removed'
  const known = allowed[form]
  if (known !== undefined) return known
  if (!isKept) return encodeAllow(forwardToken, claims)
  // Memory of its own: Node's pool would keep what shares it with this answer.
  return (allowed[form] = new Uint8Array(encodeAllow(forwardToken, claims)))
}

/** Shared by all checks, which are encoded one at a time. */
const writer = new BackwardWriter()

interface OfOneRequest {
  /** As in Allowed. */
  readonly cookie?: string
  readonly listRequest?: string
  readonly values?: ValuesForEnvoy
  readonly session?: OpenedSession
  readonly auditReason?: Reason
  readonly seal?: string
}

const isOfOneRequest = ({
  cookie,
  listRequest,
  values,
  session,
  auditReason,
}: OfOneRequest): boolean =>
  cookie !== undefined ||
  session !== undefined ||
  listRequest !== undefined ||
  values !== undefined ||
  auditReason !== undefined

/**
 * status 1 (empty: OK), ok_response 3 { headers 2, headers_to_remove 5, response_headers_to_add 6 },
 * dynamic_metadata 4.
 */
function encodeAllow(
  forwardToken: boolean,
  claims?: LazyValue<JsonObject>,
  { cookie, listRequest, values, session, auditReason, seal }: OfOneRequest = {},
): Uint8Array {
  writer.begin()
  const limitKeys = values?.limitKeys
  if (auditReason !== undefined) writeField(AUDIT_REASON_KEY, auditReason)
  if (listRequest !== undefined) writeField(LIST_REQUEST_KEY, listRequest)
  if (session !== undefined) writeField(SESSION_KEY, session.sealed)
  if (limitKeys !== undefined) writeField(LIMIT_KEYS_KEY, limitKeys)
  if (claims !== undefined) {
    if (claims.exact !== undefined) writeField(EXACT_CLAIMS_KEY, claims.exact)
    writeField(CLAIMS_KEY, claims.json)
  }
  if (writer.mark() > 0) writer.end(4, 0)
  const response = writer.mark()
  for (const [name, value] of values?.responseSet ?? []) writeHeader(name, value, OF_THE_ANSWER)
  for (const name of values?.requestRemove ?? []) writer.text(5, name)
  for (const name of NEVER_FROM_CLIENTS.toReversed()) writer.text(5, name)
  if (!forwardToken) writer.text(5, 'authorization')
  if (cookie === '') writer.text(5, 'cookie')
  else if (cookie !== undefined) writeHeader('cookie', cookie)
  if (session !== undefined) writeHeader(SESSION_HEADER, session.id)
  for (const [name, value] of values?.requestAppend ?? []) writeHeader(name, value, APPENDED)
  for (const [name, value] of values?.requestSet ?? []) writeHeader(name, value)
  if (seal !== undefined) writeHeader(SEAL_HEADERS.authz, seal)
  writer.end(3, response)
  writer.end(1, writer.mark())
  return Buffer.from(writer.view())
}

const ANONYMOUS_KEPT = new Uint8Array(encodeAllow(true))
const ANONYMOUS_REMOVED = new Uint8Array(encodeAllow(false))

/** status 1 { code 1 }, denied_response 2 { status 1 { code 1 }, headers 2, body 3 }, dynamic_metadata 4. */
function encodeReply(reply: CheckReply, reason: Reason, requestId: string | undefined): Uint8Array {
  writer.begin()
  writeField(REASON_KEY, reason)
  writer.end(4, 0)
  const denied = writer.mark()
  writer.text(3, reply.body)
  if (requestId !== undefined) writeHeader(REQUEST_ID, requestId)
  for (const [name, value] of reply.headers.toReversed()) writeHeader(name, value)
  writeCode(reply.status)
  writer.end(2, denied)
  writeCode(RPC_CODES[reply.status])
  return Buffer.from(writer.view())
}

/** Writes 1 { code 1 }. */
function writeCode(code: number): void {
  const status = writer.mark()
  writer.number(1, code)
  writer.end(1, status)
}

/**
 * Selects the field append, since Envoy treats append_action APPEND_IF_EXISTS_OR_ADD as "replace" here. With append,
 * Envoy appends only to a header that exists.
 */
const APPENDED = { isAppended: true }

const OF_THE_ANSWER = { field: 6 }

/**
 * headers 2, or another field: HeaderValueOption { header 1 { key 1, value 2 }, append 2 { value 1 },
 * append_action 3 }.
 */
function writeHeader(
  name: string,
  value: string,
  { field = 2, isAppended = false }: { field?: number; isAppended?: boolean } = {},
): void {
  const option = writer.mark()
  if (isAppended) {
    const append = writer.mark()
    writer.number(1, 1)
    writer.end(2, append)
  } else writer.number(3, OVERWRITE_IF_EXISTS_OR_ADD)
  const header = writer.mark()
  writer.text(2, value)
  writer.text(1, name)
  writer.end(1, header)
  writer.end(field, option)
}

/** Writes a google.protobuf.Struct: fields 1, each an entry { key 1, value 2 }. */
function writeFields(object: JsonObject): void {
  const names = Object.keys(object)
  for (let i = names.length - 1; i >= 0; i--) {
    const name = names[i] ?? ''
    writeField(name, object[name] ?? null)
  }
}

function writeField(name: string, value: Json): void {
  const entry = writer.mark()
  writeValue(value)
  writer.end(2, entry)
  writer.text(1, name)
  writer.end(1, entry)
}

/** Writes a google.protobuf.Value: null 1, number 2, string 3, bool 4, struct 5, list 6 { values 1 }. */
function writeValue(value: Json): void {
  if (value === null) writer.number(1, 0)
  else if (typeof value === 'number') writer.double(2, value)
  else if (typeof value === 'string') writer.text(3, value)
  else if (typeof value === 'boolean') writer.number(4, value ? 1 : 0)
  else {
    const part = writer.mark()
    if (isList(value)) writeList(value)
    else writeFields(value)
    writer.end(isList(value) ? 6 : 5, part)
  }
}

const isList = (value: readonly Json[] | JsonObject): value is readonly Json[] =>
  Array.isArray(value)

function writeList(list: readonly Json[]): void {
  for (let i = list.length - 1; i >= 0; i--) {
    const item = writer.mark()
    writeValue(list[i] ?? null)
    writer.end(1, item)
  }
}

// A Decision → the bytes of an envoy.service.auth.v3.CheckResponse. By hand, so that what lets a remembered token in
// is encoded once and sent again and again. Held equal to the generated encoder by a test.

import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import type { LazyValue } from '../cel/attributes.js'
import type { Json, JsonObject } from '../ir/json.js'
import { CLAIMS_KEY, EXACT_CLAIMS_KEY } from '../ir/names.js'
import type { Decision, Reply } from './decision.js'
import type { RememberedToken } from './token-memory.js'

/** google.rpc.Code, by our status: what Envoy logs. */
const RPC_CODES = { 400: 3, 401: 16, 403: 7, 500: 13, 503: 14 } as const
/** HeaderValueOption.append_action: the default would append to what others set. */
const OVERWRITE_IF_EXISTS_OR_ADD = 2

/** A client's copies of headers that Envoy or we give a meaning to (decision 6). */
const NEVER_FROM_CLIENTS = [
  'x-gatehouse-route',
  'x-envoy-auth-partial-body',
  'x-envoy-original-path',
]

/** forwardToken: whether Authorization goes on to the backend; true where no token is asked for at all. */
export function encodeDecision(decision: Decision, forwardToken: boolean): Uint8Array {
  if (decision.type === 'reply') return encodeReply(decision.reply)
  if (decision.token !== undefined) return encodeVerified(decision.token, forwardToken)
  return forwardToken ? ANONYMOUS_KEPT : ANONYMOUS_REMOVED
}

function encodeVerified(token: RememberedToken, forwardToken: boolean): Uint8Array {
  const form = forwardToken ? 'kept' : 'removed'
  return (token.allowed[form] ??= encodeAllow(forwardToken, token.claims))
}

/** status 1 stays empty: OK. ok_response 3 { headers_to_remove 5 }, dynamic_metadata 4. */
function encodeAllow(forwardToken: boolean, claims?: LazyValue<JsonObject>): Uint8Array {
  const writer = new BinaryWriter()
  bytes(writer, 1).fork().join()
  bytes(writer, 3).fork()
  for (const name of forwardToken ? NEVER_FROM_CLIENTS : ['authorization', ...NEVER_FROM_CLIENTS])
    bytes(writer, 5).string(name)
  writer.join()
  if (claims !== undefined) {
    bytes(writer, 4).fork()
    const { json, exact } = claims
    writeFields(writer, {
      [CLAIMS_KEY]: json,
      ...(exact !== undefined && { [EXACT_CLAIMS_KEY]: exact }),
    })
    writer.join()
  }
  return writer.finish()
}

const ANONYMOUS_KEPT = encodeAllow(true)
const ANONYMOUS_REMOVED = encodeAllow(false)

/** status 1 { code 1 }, denied_response 2 { status 1 { code 1 }, headers 2, body 3 }. */
function encodeReply(reply: Reply): Uint8Array {
  const writer = new BinaryWriter()
  bytes(writer, 1).fork()
  varint(writer, 1).int32(RPC_CODES[reply.status])
  writer.join()
  bytes(writer, 2).fork()
  bytes(writer, 1).fork()
  varint(writer, 1).int32(reply.status)
  writer.join()
  for (const [name, value] of reply.headers) writeHeader(writer, name, value)
  bytes(writer, 3).string(reply.body)
  return writer.join().finish()
}

/** headers 2: HeaderValueOption { header 1 { key 1, value 2 }, append_action 3 }. */
function writeHeader(writer: BinaryWriter, name: string, value: string): void {
  bytes(writer, 2).fork()
  bytes(writer, 1).fork()
  bytes(writer, 1).string(name)
  bytes(writer, 2).string(value)
  writer.join()
  varint(writer, 3).int32(OVERWRITE_IF_EXISTS_OR_ADD)
  writer.join()
}

/** google.protobuf.Struct: fields 1, each an entry { key 1, value 2 }. */
function writeFields(writer: BinaryWriter, object: JsonObject): void {
  for (const [key, value] of Object.entries(object)) {
    bytes(writer, 1).fork()
    bytes(writer, 1).string(key)
    bytes(writer, 2).fork()
    writeValue(writer, value)
    writer.join().join()
  }
}

/** google.protobuf.Value: null 1, number 2, string 3, bool 4, struct 5, list 6 { values 1 }. */
function writeValue(writer: BinaryWriter, value: Json): void {
  if (value === null) varint(writer, 1).int32(0)
  else if (typeof value === 'number') writer.tag(2, WireType.Bit64).double(value)
  else if (typeof value === 'string') bytes(writer, 3).string(value)
  else if (typeof value === 'boolean') varint(writer, 4).bool(value)
  else if (isList(value)) writeList(writer, value)
  else {
    bytes(writer, 5).fork()
    writeFields(writer, value)
    writer.join()
  }
}

const isList = (value: readonly Json[] | JsonObject): value is readonly Json[] =>
  Array.isArray(value)

function writeList(writer: BinaryWriter, list: readonly Json[]): void {
  bytes(writer, 6).fork()
  for (const item of list) {
    bytes(writer, 1).fork()
    writeValue(writer, item)
    writer.join()
  }
  writer.join()
}

function bytes(writer: BinaryWriter, field: number): BinaryWriter {
  return writer.tag(field, WireType.LengthDelimited)
}

function varint(writer: BinaryWriter, field: number): BinaryWriter {
  return writer.tag(field, WireType.Varint)
}

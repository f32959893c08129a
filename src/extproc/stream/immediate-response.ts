// A reply of ours → Envoy's ImmediateResponse (envoy.service.ext_proc.v3), and the one answer that asks for a body.

import { create } from '@bufbuild/protobuf'
import { HeaderValueOption_HeaderAppendAction } from '../../grpc/generated/envoy/config/core/v3/base_pb.js'
import {
  CommonResponse_ResponseStatus,
  type ProcessingResponse,
  ProcessingResponseSchema,
} from '../../grpc/generated/envoy/service/ext_proc/v3/external_processor_pb.js'
import type { StatusCode } from '../../grpc/generated/envoy/type/v3/http_status_pb.js'
import type { JsonObject } from '../../ir/json.js'

export interface Reply {
  /** 200 to 599: Envoy ignores others. */
  readonly status: number
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  /** What Envoy's access log shows as response code details; no spaces. */
  readonly details: string
}

/** no-store unless headers say otherwise. */
export const jsonReply = (
  status: number,
  body: JsonObject,
  details: string,
  headers: Readonly<Record<string, string>> = {},
): Reply => ({
  status,
  headers: { 'content-type': 'application/json', 'cache-control': 'no-store', ...headers },
  body: new TextEncoder().encode(JSON.stringify(body)),
  details,
})

/** An error in the form that OAuth clients read (RFC 6749 section 5.2). */
export const errorReply = (
  status: number,
  [error, description]: readonly [error: string, description: string],
  details: string,
  headers: Readonly<Record<string, string>> = {},
): Reply => jsonReply(status, { error, error_description: description }, details, headers)

export const immediateResponse = (reply: Reply): ProcessingResponse =>
  create(ProcessingResponseSchema, {
    response: {
      case: 'immediateResponse',
      value: {
        status: { code: reply.status as StatusCode },
        headers: {
          setHeaders: Object.entries({
            ...reply.headers,
            'x-content-type-options': 'nosniff',
          }).map(([key, value]) => ({
            // Envoy reads raw_value alone here; without an action it would append to its own content-type.
            header: { key, rawValue: new TextEncoder().encode(value) },
            appendAction: HeaderValueOption_HeaderAppendAction.OVERWRITE_IF_EXISTS_OR_ADD,
          })),
        },
        body: reply.body,
        details: reply.details,
      },
    },
  })

/** Lets Envoy go on to the buffered body of a request; its headers are held until that is answered. */
export const awaitBody = (): ProcessingResponse =>
  create(ProcessingResponseSchema, {
    response: {
      case: 'requestHeaders',
      value: { response: { status: CommonResponse_ResponseStatus.CONTINUE } },
    },
  })

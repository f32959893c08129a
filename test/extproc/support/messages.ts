// Builds messages as Envoy sends them, and reads responses into plain values.

import { create } from '@bufbuild/protobuf'
import {
  ProcessingRequestSchema,
  type ProcessingResponse,
} from '../../../src/wire/grpc/generated/envoy/service/ext_proc/v3/external_processor_pb.js'
import type { Message } from './stream.js'

export interface RequestParts {
  readonly headers?: Readonly<Record<string, string>>
  readonly endOfStream?: boolean
  readonly config?: Message['protocolConfig']
}

/** The headers of a request; GET and HEAD have no body by default. */
export const request = (method: string, path: string, parts: RequestParts = {}): Message => ({
  request: {
    case: 'requestHeaders',
    value: {
      headers: headerMap({
        ':method': method,
        ':scheme': 'http',
        ':authority': 'gw.example',
        ':path': path,
        ...parts.headers,
      }),
      endOfStream: parts.endOfStream ?? method !== 'POST',
    },
  },
  ...(parts.config === undefined ? {} : { protocolConfig: parts.config }),
})

/** undefined: not a request's headers. */
export function pathOf(message: Message | undefined): string | undefined {
  const { request: phase } = create(ProcessingRequestSchema, message)
  if (phase.case !== 'requestHeaders') return undefined
  const path = phase.value.headers?.headers.find(({ key }) => key === ':path')
  return path && Buffer.from(path.rawValue).toString()
}

export const headerMap = (headers: Readonly<Record<string, string>>) => ({
  headers: Object.entries(headers).map(([key, value]) => ({ key, rawValue: Buffer.from(value) })),
})

export const body = (content: string | Uint8Array, endOfStream = true): Message => ({
  request: { case: 'requestBody', value: { body: Buffer.from(content), endOfStream } },
})

export interface PlainReply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
  /** undefined: not JSON. */
  readonly json: unknown
  readonly details: string
}

/** Reads the reply from an ImmediateResponse; like Envoy, only raw_value of each header. */
export function replyIn({ response }: ProcessingResponse): PlainReply {
  if (response.case !== 'immediateResponse') throw new Error(`not a reply: ${response.case}`)
  const { status, headers, body: content, details } = response.value
  const text = Buffer.from(content).toString()
  return {
    status: status?.code ?? 0,
    headers: Object.fromEntries(
      (headers?.setHeaders ?? []).map(({ header }) => [
        header?.key ?? '',
        Buffer.from(header?.rawValue ?? []).toString(),
      ]),
    ),
    text,
    json: parsed(text),
    details,
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

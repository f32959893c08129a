// Plays a server's lists through their processor.

import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import { expect } from 'vitest'
import { CostlyExpressions } from '../../../src/extauthz/cel/costly-expressions.js'
import type { AskedLists } from '../../../src/extauthz/mcp/lists.js'
import { compileRules } from '../../../src/extauthz/rules/compile-rules.js'
import { listRequestText } from '../../../src/extauthz/rules/list-request.js'
import { rulesOfLists } from '../../../src/extauthz/rules/listed.js'
import type { ListsDeps } from '../../../src/extproc/lists/list-reply.js'
import { createListsProcessor } from '../../../src/extproc/lists/lists-processor.js'
import { createHeldBytes } from '../../../src/extproc/session/held-bytes.js'
import type { BodyModes } from '../../../src/extproc/session/process-message.js'
import { type Processor } from '../../../src/extproc/session/processor.js'
import { createDecisionLog } from '../../../src/kit/decision-log.js'
import { OwnEnding } from '../../../src/kit/ending.js'
import { atOnce } from '../../../src/kit/turns.js'
import { CLAIMS_NAMESPACE, LIST_REQUEST_KEY } from '../../../src/model/names.js'
import { MetadataSchema } from '../../../src/wire/grpc/generated/envoy/config/core/v3/base_pb.js'
import { ProcessingMode_BodySendMode as BodySendMode } from '../../../src/wire/grpc/generated/envoy/extensions/filters/http/ext_proc/v3/processing_mode_pb.js'
import { ProcessingResponseSchema } from '../../../src/wire/grpc/generated/envoy/service/ext_proc/v3/external_processor_pb.js'

/** An exchange that is played. */
export interface Played {
  readonly processor: Processor
  /** Status of the headers that were sent; 200 if they have none, 0 if none were sent. */
  readonly status: () => number
  readonly body: () => string
  /** Number of messages with parts of the body. */
  readonly count: () => number
  /** How the reply ended. */
  readonly ends: readonly ('body' | 'trailers')[]
  readonly end: () => void
  /** The only line of the decision log. */
  readonly lineOf: () => object
}

const request = {
  method: 'POST',
  host: 'gw.example',
  scheme: 'https',
  pathAndQuery: '/mcp',
  version: 'HTTP/1.1',
  headers: new Map(),
}

const RULES = ['mcp.tool.name == "rm"']

/** How an exchange is played. */
export interface Play {
  readonly deps?: Partial<ListsDeps>
  readonly deny?: readonly string[]
  readonly asked?: AskedLists
  readonly config?: BodyModes
  /** Headers of the reply, beside its type. */
  readonly headers?: Readonly<Record<string, string>>
}

/** The policy of the lists. */
export const POLICY = { policy: 'default/mcp', source: 'policies.yaml:7' }
/** The trace of the exchange. */
export const TRACE = 'a'.repeat(32)
const ASKING = new Map([
  [':method', ['POST']],
  [':authority', ['gw.example']],
  [':path', ['/mcp?secret=1']],
  ['x-request-id', ['id-1']],
  ['authorization', ['Bearer opaque-credential']],
])

/** The modes that lists need. */
export const FULL_DUPLEX: BodyModes = {
  requestBodyMode: BodySendMode.NONE,
  responseBodyMode: BodySendMode.FULL_DUPLEX_STREAMED,
}

/** A request for tools. */
export const ASKED: AskedLists = [{ id: '1', method: 'tools/list' }]

/** A processor whose request has been sent on. */
export function play(
  type: string,
  { deps, deny = RULES, asked = ASKED, config = FULL_DUPLEX, headers: more = {} }: Play = {},
): Played {
  const rules = atOnce(compileRules({ deny, require: [], allow: [] }))
  if (rules === undefined) throw new Error('no rules')
  const signal = new OwnEnding()
  const lines: object[] = []
  const decisions = createDecisionLog({
    claims: [],
    now: () => 0,
    choice: { refusals: true, oneAllowedOf: 0 },
    write: (message, fields) => void lines.push({ ...fields, message }),
  })
  let status = 0
  let body = ''
  let count = 0
  const ends: ('body' | 'trailers')[] = []
  const send = (bytes: Uint8Array): void => {
    const { response } = fromBinary(ProcessingResponseSchema, bytes)
    if (response.case === 'responseHeaders') {
      const set = response.value.response?.headerMutation?.setHeaders ?? []
      const own = set.find(({ header }) => header?.key === ':status')?.header?.rawValue
      status = own === undefined ? 200 : Number(Buffer.from(own).toString())
    }
    if (response.case === 'responseTrailers') ends.push('trailers')
    if (response.case !== 'responseBody') return
    count += 1
    const { mutation } = response.value.response?.bodyMutation ?? {}
    if (mutation?.case !== 'streamedResponse') return
    body += Buffer.from(mutation.value.body).toString()
    if (mutation.value.endOfStream) ends.push('body')
  }
  const processor = createListsProcessor(
    { type: 'lists', route: 'default/mcp', policy: POLICY, rules: rulesOfLists(rules) },
    { send, signal },
    {
      maxBodyBytes: 1 << 20,
      heldBytes: createHeldBytes(1 << 23),
      costly: new CostlyExpressions(),
      decisions,
      traceparent: `00-${TRACE}-${'b'.repeat(16)}-01`,
      ...deps,
    },
  )
  const fields = { [LIST_REQUEST_KEY]: listRequestText({ request }, asked) }
  const metadata = create(MetadataSchema, { filterMetadata: { [CLAIMS_NAMESPACE]: fields } })
  void processor.requestHeaders(
    { headers: ASKING, endOfStream: true },
    { metadata: Buffer.from(toBinary(MetadataSchema, metadata)), config },
  )
  const headers = new Map([
    [':status', ['200']],
    ['content-type', [type]],
    ...Object.entries(more).map(([name, value]) => [name, [value]] as [string, string[]]),
  ])
  void processor.responseHeaders({ headers, endOfStream: false }, {})
  const lineOf = (): object => {
    expect(lines).toHaveLength(1)
    return lines[0] ?? {}
  }
  const end = (): void => signal.abort()
  return {
    processor,
    status: () => status,
    body: () => body,
    count: () => count,
    ends,
    end,
    lineOf,
  }
}

/** A content type. */
export const JSON_TYPE = 'application/json'
/** A content type. */
export const EVENTS = 'text/event-stream'

/** The answer with these tools. */
export const list = (...names: readonly string[]): string =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, result: { tools: names.map((name) => ({ name })) } })

/** A part of a body. */
export const part = (
  text: string,
  endOfStream: boolean,
): { body: Buffer; endOfStream: boolean } => ({
  body: Buffer.from(text),
  endOfStream,
})

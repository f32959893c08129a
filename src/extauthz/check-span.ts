// Creates the span of a check. The request is parsed a second time, but only if the span is exported.

import { hider, type RequestFacts } from '../decision-log.js'
import type { AuthzEntry } from '../ir/authz-entry.js'
import { mcpSpanAttributes, namedCall, type TracedCall } from '../mcp/span-attributes.js'
import {
  sentContext,
  type SpanAttributes,
  TRACEPARENT,
  type Tracer,
  TRACESTATE,
} from '../tracing.js'
import type { CheckCall } from './check-context.js'
import { openCheckRequest, readCheckRequest } from './check-request.js'
import type { Decision } from './decision.js'
import { decisionPlace } from './decision-line.js'
import { HeaderNames } from './header-names.js'

const NAME = 'gatehouse.check'
const HEADERS = new HeaderNames([
  ...[TRACEPARENT, TRACESTATE, 'x-request-id', 'authorization', 'proxy-authorization', 'cookie'],
  ...['mcp-method', 'mcp-name', 'mcp-protocol-version'],
])

/** A request and its call, as received. */
export interface CheckedRequest {
  /** The CheckRequest. */
  readonly bytes: Buffer
  readonly call: CheckCall
  /** When it began, in milliseconds of performance.now(). */
  readonly start: number
}

/** Records a check. entry: undefined if the route is not known. @throws RangeError when the CheckRequest is malformed. */
export function traceCheck(
  tracer: Tracer,
  { bytes, call, start }: CheckedRequest,
  entry: AuthzEntry | undefined,
  decision: Decision,
): void {
  const request = readCheckRequest(openCheckRequest(bytes), HEADERS)
  const ofEnvoy = sentContext((name) => call.metadata?.(name) ?? [])
  const sent =
    ofEnvoy.parent === undefined ? sentContext((name) => allOf(request.headers.get(name))) : ofEnvoy
  const span = tracer.start(NAME, {
    ...(tracer.propagates && sent),
    kind: 'server',
    startedAt: start,
  })
  const isFault = decision.type === 'reply' && decision.reply.status >= 500
  if (span.isRecording) {
    const facts = { ...request, pathAndQuery: request.path }
    span.set({ ...requestAttributes(facts), ...decisionAttributes(decision, entry, facts) })
  }
  span.end(isFault ? decision.reason : undefined)
}

const allOf = (value: string | readonly string[] | undefined): readonly string[] =>
  value === undefined ? [] : typeof value === 'string' ? [value] : value

const oneOf = (value: string | readonly string[] | undefined): string | undefined =>
  typeof value === 'string' ? value : undefined

/** Returns the attributes of a request: the path without its query, and no credentials. */
function requestAttributes(facts: RequestFacts): SpanAttributes {
  const hide = hider(facts)
  const { method, host, pathAndQuery, headers } = facts
  const [path = ''] = pathAndQuery.split(/[?#]/, 1)
  const id = oneOf(headers.get('x-request-id'))
  return {
    'http.request.method': hide(method),
    'server.address': hide(host),
    'url.path': hide(path),
    'gatehouse.request_id': id === undefined ? undefined : hide(id),
  }
}

function decisionAttributes(
  decision: Decision,
  entry: AuthzEntry | undefined,
  facts: RequestFacts,
): SpanAttributes {
  const place = entry === undefined ? {} : decisionPlace(entry, decision)
  return {
    'gatehouse.decision': decision.type === 'allow' ? 'allow' : 'deny',
    'gatehouse.reason': decision.reason,
    'gatehouse.route': entry?.route,
    'gatehouse.policy': place.policy,
    'gatehouse.rule': place.rule,
    'http.response.status_code': decision.type === 'reply' ? decision.reply.status : undefined,
    ...mcpSpanAttributes(callsOf(decision, facts), hider(facts)),
  }
}

/** Returns the calls of an MCP request: from its body if rules read it, otherwise from its headers. */
function callsOf(decision: Decision, { headers }: RequestFacts): readonly TracedCall[] {
  const mcp = decision.type === 'allow' ? decision.mcp : decision.by?.mcp
  if (mcp !== undefined) return mcp.calls
  const valueOf = (name: string): string => oneOf(headers.get(name)) ?? ''
  const version = valueOf('mcp-protocol-version')
  return [namedCall(valueOf('mcp-method'), valueOf('mcp-name'), version)]
}

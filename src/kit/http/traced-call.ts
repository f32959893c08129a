// Creates a client span for each call to a remote target, and passes the trace context on.

import { type SentContext, type SpanAttributes, type Tracer } from '../tracing.js'
import type { CallRemote } from './http-call.js'

/** tracer: read at each call; undefined: nothing is traced. within: the context of the calls' parent span. */
export const tracedCall =
  (
    tracer: () => Tracer | undefined,
    callRemote: CallRemote,
    within: SentContext = {},
  ): CallRemote =>
  async (target, request) => {
    const span = tracer()?.start(request.method, { ...within, kind: 'client' })
    if (span === undefined) return callRemote(target, request)
    if (span.isRecording) span.set(callAttributes(request.method, target.url))
    let error: string | undefined = 'unexpected'
    try {
      const headers = { ...request.headers, ...span.headers }
      const answer = await callRemote(target, { ...request, headers })
      if (answer.ok) span.set({ 'http.response.status_code': answer.value.status })
      error = answer.ok ? errorOfStatus(answer.value.status) : answer.error.type
      return answer
    } finally {
      span.end(error)
    }
  }

/** Returns the attributes of a client span, by OpenTelemetry's conventions and without the query of the URL. */
export function callAttributes(method: string, url: string): SpanAttributes {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  if (parsed === undefined) return { 'http.request.method': method }
  const { protocol, hostname, port, origin, pathname } = parsed
  return {
    'http.request.method': method,
    'server.address': hostname,
    'server.port': port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port),
    'url.full': origin + pathname,
  }
}

/** Returns the error of a client's span; undefined for an answer that is none. */
export const errorOfStatus = (status: number): string | undefined =>
  status >= 400 ? String(status) : undefined

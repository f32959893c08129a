// The interface of tracing for the code that makes spans. Its implementation (src/ops/telemetry) is loaded only if traces are
// exported; without it there is no Tracer, and no span costs anything.

/** Values that a span carries. They never hold a token, a prompt, a claim or a query. */
export type SpanAttributes = Readonly<
  Record<string, string | number | boolean | readonly string[] | undefined>
>

/** A span that has been started. */
export interface TraceSpan {
  /** Value of the traceparent header for calls within this span. */
  readonly traceparent: string
  /** Value of the tracestate header beside it; "": none. */
  readonly tracestate: string
  /** The headers that pass its context on; none without propagation. */
  readonly headers: Readonly<Record<string, string>>
  /** Whether the span is exported; if not, its attributes need not be computed. */
  readonly isRecording: boolean
  set(attributes: SpanAttributes): void
  /** Ends the span, once. error: the kind of failure, a short word; absent: none. */
  end(error?: string): void
}

/** The place in a trace that a caller sent. */
export interface SentContext {
  /** A traceparent header; absent or invalid: the span begins a trace. */
  readonly parent?: string | undefined
  /** The tracestate header that came with it. Without a valid parent it means nothing. */
  readonly state?: string | undefined
}

/** What a span is started with. */
export interface SpanStart extends SentContext {
  readonly kind: 'server' | 'client' | 'internal'
  /** When it began, in milliseconds of performance.now(); absent: now. */
  readonly startedAt?: number
}

/** Starts spans. */
export interface Tracer {
  /** Whether contexts that callers sent are parents of spans, and contexts are passed on. */
  readonly propagates: boolean
  start(name: string, options: SpanStart): TraceSpan
}

/** The trace that a request's spans belong to, as Envoy sent it with its call. */
export interface Trace extends SentContext {
  readonly tracer: Tracer
}

/** The header that carries the context of a trace (W3C Trace Context). */
export const TRACEPARENT = 'traceparent'

/** The header with what vendors add to that context. */
export const TRACESTATE = 'tracestate'

/** Reads both headers. values: returns all values of a header. */
export function sentContext(values: (name: string) => readonly string[]): SentContext {
  const states = values(TRACESTATE)
  return {
    parent: values(TRACEPARENT)[0],
    state: states.length === 0 ? undefined : states.join(','),
  }
}

/** Returns the context for calls that have this span as their parent. */
export const contextWithin = ({ traceparent, tracestate }: TraceSpan): SentContext => ({
  parent: traceparent,
  state: tracestate,
})

/** Returns the headers that pass on a context. */
export const contextHeaders = ({
  traceparent,
  tracestate,
}: Pick<TraceSpan, 'traceparent' | 'tracestate'>): Readonly<Record<string, string>> => ({
  [TRACEPARENT]: traceparent,
  ...(tracestate !== '' && { [TRACESTATE]: tracestate }),
})

/** The trace that a request belongs to. */
export interface TraceContext {
  readonly traceId: string
  readonly spanId: string
  readonly isSampled: boolean
}

const PATTERN = /^(?!ff)[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-([\da-f]{2})/

/** Returns what a traceparent says; undefined if it is absent or invalid. */
export function readTraceparent(text: string | undefined): TraceContext | undefined {
  const [, traceId, spanId, flags] = PATTERN.exec(text ?? '') ?? []
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 }
}

// The interface of tracing for the code that makes spans. Its implementation (src/telemetry) is loaded only if traces are
// exported; without it there is no Tracer, and no span costs anything.

/** Values that a span carries. They never hold a token, a prompt, a claim or a query. */
export type SpanAttributes = Readonly<
  Record<string, string | number | boolean | readonly string[] | undefined>
>

export interface TraceSpan {
  /** Value of the traceparent header for calls within this span. */
  readonly traceparent: string
  /** Whether the span is exported; if not, its attributes need not be computed. */
  readonly isRecording: boolean
  set(attributes: SpanAttributes): void
  /** Ends the span, once. error: the kind of failure, a short word; absent: none. */
  end(error?: string): void
}

export interface SpanStart {
  readonly kind: 'server' | 'client' | 'internal'
  /** A traceparent header; absent or invalid: the span begins a trace. */
  readonly parent?: string | undefined
  /** When it began, in milliseconds of performance.now(); absent: now. */
  readonly startedAt?: number
}

export interface Tracer {
  start(name: string, options: SpanStart): TraceSpan
}

/** The trace that a request's spans belong to. */
export interface Trace {
  readonly tracer: Tracer
  /** The traceparent that Envoy sent with its call. */
  readonly parent: string | undefined
}

/** The header that carries the context of a trace (W3C Trace Context). */
export const TRACEPARENT = 'traceparent'

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

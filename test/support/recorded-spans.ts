// A Tracer that keeps its spans, for tests of the code that makes them.

import {
  contextHeaders,
  readTraceparent,
  type SpanAttributes,
  type SpanStart,
  type Tracer,
} from '../../src/kit/tracing.js'

export interface RecordedSpan extends SpanStart {
  readonly name: string
  readonly traceparent: string
  readonly tracestate: string
  readonly attributes: Record<string, SpanAttributes[string]>
  /** Undefined until it has ended. */
  end: { readonly error: string | undefined } | undefined
}

export interface RecordingTracer extends Tracer {
  readonly spans: readonly RecordedSpan[]
}

export function recordingTracer(): RecordingTracer {
  const spans: RecordedSpan[] = []
  return {
    spans,
    propagates: true,
    start(name, options) {
      const traceId = readTraceparent(options.parent)?.traceId ?? 'f'.repeat(32)
      const id = String(spans.length + 1).padStart(16, '0')
      const span: RecordedSpan = {
        name,
        ...options,
        traceparent: `00-${traceId}-${id}-01`,
        tracestate: options.state ?? '',
        attributes: {},
        end: undefined,
      }
      spans.push(span)
      return {
        traceparent: span.traceparent,
        tracestate: span.tracestate,
        headers: contextHeaders(span),
        isRecording: true,
        set: (attributes) => {
          for (const [key, value] of Object.entries(attributes))
            if (value !== undefined) span.attributes[key] = value
        },
        end: (error) => {
          if (span.end !== undefined) throw new Error(`the span ${name} has ended twice`)
          span.end = { error }
        },
      }
    },
  }
}

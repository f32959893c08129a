// Implements the Tracer of src/kit/tracing.ts with the OpenTelemetry SDK, which sends spans to the collector in batches.

import {
  type Context,
  ROOT_CONTEXT,
  type Span as SdkSpan,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Tracer as SdkTracer,
} from '@opentelemetry/api'
import { TraceState } from '@opentelemetry/core'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import type { Resource } from '@opentelemetry/resources'
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type ReadableSpan,
  type Sampler,
  type Span as StartedSpan,
  type SpanProcessor,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import {
  contextHeaders,
  readTraceparent,
  type SentContext,
  type SpanAttributes,
  type SpanStart,
  type Tracer,
  type TraceSpan,
} from '../../kit/tracing.js'
import type { SamplerName, TelemetrySettings } from '../settings/telemetry.js'
import { CountedExporter, type CountItems } from './counted-exporter.js'

/** A running exporter of spans. */
export interface OpenTracer {
  readonly tracer: Tracer
  /** Sends the waiting spans. Rejects if the collector does not accept them. */
  close(): Promise<void>
}

/** Maximum number of characters of a text in a span. */
const MAX_TEXT = 256
const SCOPE = 'gatehouse'

/** Starts to export spans. */
export function createTracer(
  { url, sampler, ratio, batch, propagates }: NonNullable<TelemetrySettings['traces']>,
  resource: Resource,
  count: CountItems,
): OpenTracer {
  const exporter = new CountedExporter<ReadableSpan>(
    new OTLPTraceExporter(url === undefined ? {} : { url }),
    count,
    batch.maxQueueSize,
  )
  const provider = new TracerProvider({
    resource,
    sampler: samplerOf(sampler, ratio),
    spanLimits: { attributeValueLengthLimit: MAX_TEXT, attributeCountLimit: 64 },
    spanProcessors: [new AdmittedSpans(exporter, new BatchSpanProcessor({ exporter, ...batch }))],
  })
  return {
    tracer: new OtlpTracer(provider.getTracer(SCOPE), propagates),
    close: () => provider.shutdown(),
  }
}

function samplerOf(name: SamplerName, ratio: number): Sampler {
  const plain = name.replace('parentbased_', '')
  const root =
    plain === 'always_on'
      ? new AlwaysOnSampler()
      : plain === 'always_off'
        ? new AlwaysOffSampler()
        : new TraceIdRatioBasedSampler(ratio)
  return plain === name ? root : new ParentBasedSampler({ root })
}

/** Passes on only the spans that the queue has room for. */
class AdmittedSpans implements SpanProcessor {
  readonly #exporter: CountedExporter<ReadableSpan>
  readonly #inner: SpanProcessor

  constructor(exporter: CountedExporter<ReadableSpan>, inner: SpanProcessor) {
    this.#exporter = exporter
    this.#inner = inner
  }

  onStart(span: StartedSpan, context: Context): void {
    this.#inner.onStart(span, context)
  }

  onEnd(span: ReadableSpan): void {
    const isSampled = (span.spanContext().traceFlags & TraceFlags.SAMPLED) !== 0
    if (isSampled && this.#exporter.admit()) this.#inner.onEnd(span)
  }

  forceFlush(): Promise<void> {
    return this.#inner.forceFlush()
  }

  shutdown(): Promise<void> {
    return this.#inner.shutdown()
  }
}

const KINDS: Readonly<Record<SpanStart['kind'], SpanKind>> = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  internal: SpanKind.INTERNAL,
}

class OtlpTracer implements Tracer {
  readonly #tracer: SdkTracer

  constructor(
    tracer: SdkTracer,
    readonly propagates: boolean,
  ) {
    this.#tracer = tracer
  }

  start(name: string, { kind, startedAt, ...sent }: SpanStart): TraceSpan {
    const options = {
      kind: KINDS[kind],
      ...(startedAt !== undefined && { startTime: performance.timeOrigin + startedAt }),
    }
    const span = this.#tracer.startSpan(name, options, contextOf(sent))
    return new OtlpSpan(span, this.propagates)
  }
}

function contextOf({ parent: traceparent, state }: SentContext): Context {
  const parent = readTraceparent(traceparent)
  if (parent === undefined) return ROOT_CONTEXT
  const { traceId, spanId, isSampled } = parent
  const traceFlags = isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE
  // TraceState drops malformed members, and those beyond 32 members or 512 characters.
  const traceState = state === undefined ? {} : { traceState: new TraceState(state) }
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId,
    spanId,
    traceFlags,
    isRemote: true,
    ...traceState,
  })
}

class OtlpSpan implements TraceSpan {
  readonly #span: SdkSpan

  readonly #propagates: boolean

  constructor(span: SdkSpan, propagates: boolean) {
    this.#span = span
    this.#propagates = propagates
  }

  get headers(): Readonly<Record<string, string>> {
    return this.#propagates ? contextHeaders(this) : {}
  }

  get isRecording(): boolean {
    return this.#span.isRecording()
  }

  get traceparent(): string {
    const { traceId, spanId, traceFlags } = this.#span.spanContext()
    return `00-${traceId}-${spanId}-0${String(traceFlags & 1)}`
  }

  get tracestate(): string {
    return this.#span.spanContext().traceState?.serialize() ?? ''
  }

  set(attributes: SpanAttributes): void {
    for (const [name, value] of Object.entries(attributes))
      if (value !== undefined) this.#span.setAttribute(name, copyOf(value))
  }

  end(error?: string): void {
    if (error !== undefined) {
      this.#span.setAttribute('error.type', error)
      this.#span.setStatus({ code: SpanStatusCode.ERROR })
    }
    this.#span.end()
  }
}

const copyOf = (
  value: NonNullable<SpanAttributes[string]>,
): string | number | boolean | string[] => (typeof value === 'object' ? [...value] : value)

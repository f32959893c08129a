// Reads which signals are exported by OTLP, from --otlp and the variables of OpenTelemetry (OTEL_*). Endpoints, headers
// and certificates of single signals are read by the SDK itself.

import { err, ok, type Result } from '../../kit/result.js'

/** The environment, as far as it is read here. */
export type Variables = Readonly<Record<string, string | undefined>>

/** A signal that is exported. */
export interface ExportedSignal {
  /** Endpoint; absent: the one in the variables. */
  readonly url?: string
}

/** Limits of a queue of spans or log records. */
export interface BatchLimits {
  readonly maxQueueSize: number
  readonly maxExportBatchSize: number
  readonly scheduledDelayMillis: number
  readonly exportTimeoutMillis: number
}

/** The exported signals. */
export interface TelemetrySettings {
  readonly traces?: ExportedSignal & {
    /** Value of OTEL_TRACES_SAMPLER. */
    readonly sampler: SamplerName
    /** Share of the traces that begin here, between 0 and 1, for samplers with a ratio. */
    readonly ratio: number
    readonly batch: BatchLimits
    /** Whether OTEL_PROPAGATORS has the context of W3C. */
    readonly propagates: boolean
  }
  readonly logs?: ExportedSignal & { readonly batch: BatchLimits }
  readonly metrics?: ExportedSignal & { readonly intervalMs: number; readonly timeoutMs: number }
  /** What the variables ask for and Gatehouse does not have; for a warning. */
  readonly unsupported: readonly string[]
}

const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const

/** A sampler of the OpenTelemetry specification. */
export type SamplerName = (typeof SAMPLERS)[number]

const SIGNALS = ['traces', 'metrics', 'logs'] as const
type Signal = (typeof SIGNALS)[number]

/** otlp: the URL of --otlp. Returns undefined if nothing is exported. error: a sentence for the user. */
export function readTelemetry(
  variables: Variables,
  otlp: string | undefined,
): Result<TelemetrySettings | undefined, string> {
  const reader = new VariableReader(variables)
  if (reader.text('OTEL_SDK_DISABLED')?.toLowerCase() === 'true') return ok(undefined)
  const on = new Set(SIGNALS.filter((signal) => isExported(signal, reader, otlp)))
  const settings: TelemetrySettings = {
    ...(on.has('traces') && {
      traces: {
        ...urlOf('traces', reader, otlp),
        sampler: reader.oneOf('OTEL_TRACES_SAMPLER', SAMPLERS, 'parentbased_always_on'),
        ratio: reader.number('OTEL_TRACES_SAMPLER_ARG', 1, { min: 0, max: 1 }),
        batch: batchOf('OTEL_BSP', 5_000, reader),
        propagates: propagatorsOf(variables).includes('tracecontext'),
      },
    }),
    ...(on.has('logs') && {
      logs: { ...urlOf('logs', reader, otlp), batch: batchOf('OTEL_BLRP', 1_000, reader) },
    }),
    ...(on.has('metrics') && {
      metrics: {
        ...urlOf('metrics', reader, otlp),
        intervalMs: reader.milliseconds('OTEL_METRIC_EXPORT_INTERVAL', 60_000),
        timeoutMs: reader.milliseconds('OTEL_METRIC_EXPORT_TIMEOUT', 30_000),
      },
    }),
    unsupported: unsupportedIn(variables),
  }
  const [problem] = reader.problems
  if (problem !== undefined) return err(problem)
  return ok(on.size === 0 ? undefined : settings)
}

function isExported(signal: Signal, reader: VariableReader, otlp: string | undefined): boolean {
  const endpoint = reader.url(endpointOf(signal)) ?? reader.url(ENDPOINT) ?? otlp
  const exporter = reader.oneOf(
    `OTEL_${signal.toUpperCase()}_EXPORTER`,
    ['otlp', 'none'],
    endpoint === undefined ? 'none' : 'otlp',
  )
  if (exporter === 'none') return false
  const protocols = [`OTEL_EXPORTER_OTLP_${signal.toUpperCase()}_PROTOCOL`, PROTOCOL]
  const given = protocols.find((name) => reader.text(name) !== undefined)
  if (given !== undefined) reader.oneOf(given, ['http/protobuf'], 'http/protobuf')
  return true
}

/** Variables that Gatehouse or the SDK reads. */
const READ: readonly RegExp[] = [
  /^OTEL_(?:SDK_DISABLED|SERVICE_NAME|RESOURCE_ATTRIBUTES|PROPAGATORS)$/,
  /^OTEL_(?:TRACES|METRICS|LOGS)_EXPORTER$/,
  /^OTEL_TRACES_SAMPLER(?:_ARG)?$/,
  /^OTEL_(?:BSP|BLRP)_(?:MAX_QUEUE_SIZE|MAX_EXPORT_BATCH_SIZE|SCHEDULE_DELAY|EXPORT_TIMEOUT)$/,
  /^OTEL_METRIC_EXPORT_(?:INTERVAL|TIMEOUT)$/,
  /^OTEL_EXPORTER_OTLP_(?:(?:TRACES|METRICS|LOGS)_)?(?:ENDPOINT|HEADERS|TIMEOUT|COMPRESSION|PROTOCOL|CERTIFICATE|CLIENT_KEY|CLIENT_CERTIFICATE)$/,
]

/** none: no context is read or passed on. baggage: nothing in a span is from it, and no call needs it. */
const PROPAGATORS: ReadonlySet<string> = new Set(['tracecontext', 'baggage', 'none'])

function propagatorsOf({ OTEL_PROPAGATORS: given = '' }: Variables): readonly string[] {
  const names = given.split(',').map((name) => name.trim())
  const named = names.filter((name) => name !== '')
  return named.length === 0 ? ['tracecontext', 'baggage'] : named
}

function unsupportedIn(variables: Variables): readonly string[] {
  const names = Object.keys(variables).filter(
    (name) => name.startsWith('OTEL_') && (variables[name] ?? '').trim() !== '',
  )
  const unknown = propagatorsOf(variables).filter((name) => !PROPAGATORS.has(name))
  return [
    ...names.filter((name) => !READ.some((pattern) => pattern.test(name))).toSorted(),
    ...unknown.map((name) => `the propagator ${JSON.stringify(name)} of OTEL_PROPAGATORS`),
  ].map((name) => name.slice(0, MAX_NAME))
}

const MAX_NAME = 100
const ENDPOINT = 'OTEL_EXPORTER_OTLP_ENDPOINT'
const PROTOCOL = 'OTEL_EXPORTER_OTLP_PROTOCOL'
const endpointOf = (signal: Signal): string => `OTEL_EXPORTER_OTLP_${signal.toUpperCase()}_ENDPOINT`

/** The variables come first, as they may name a collector for single signals. */
function urlOf(signal: Signal, reader: VariableReader, otlp: string | undefined): ExportedSignal {
  const isGiven = [endpointOf(signal), ENDPOINT].some((name) => reader.text(name) !== undefined)
  return otlp === undefined || isGiven ? {} : { url: `${otlp.replace(/\/$/, '')}/v1/${signal}` }
}

function batchOf(prefix: string, delayMs: number, reader: VariableReader): BatchLimits {
  const maxQueueSize = reader.number(`${prefix}_MAX_QUEUE_SIZE`, 2048, { min: 1, max: 65_536 })
  const maxExportBatchSize = reader.number(`${prefix}_MAX_EXPORT_BATCH_SIZE`, 512, {
    min: 1,
    max: 65_536,
  })
  return {
    maxQueueSize,
    maxExportBatchSize: Math.min(maxExportBatchSize, maxQueueSize),
    scheduledDelayMillis: reader.milliseconds(`${prefix}_SCHEDULE_DELAY`, delayMs),
    exportTimeoutMillis: reader.milliseconds(`${prefix}_EXPORT_TIMEOUT`, 30_000),
  }
}

const MAX_TIMER_MS = 2 ** 31 - 1

/** Reads variables, and collects the mistakes in them. An empty variable counts as absent. */
class VariableReader {
  readonly problems: string[] = []
  readonly #variables: Variables

  constructor(variables: Variables) {
    this.#variables = variables
  }

  text(name: string): string | undefined {
    const text = this.#variables[name]?.trim()
    return text === '' ? undefined : text
  }

  url(name: string): string | undefined {
    const text = this.text(name)
    if (text === undefined) return undefined
    if (!isHttpUrl(text)) this.#complain(name, text, 'a URL, e.g. http://127.0.0.1:4318')
    return text
  }

  oneOf<const Word extends string>(name: string, words: readonly Word[], preset: Word): Word {
    const text = this.text(name)
    if (text === undefined) return preset
    const word = words.find((each) => each === text)
    if (word === undefined) this.#complain(name, text, `one of ${words.join(', ')}`)
    return word ?? preset
  }

  number(name: string, preset: number, { min, max }: { min: number; max: number }): number {
    const text = this.text(name)
    if (text === undefined) return preset
    const value = /^\d{1,10}(\.\d{1,10})?$/.test(text) ? Number(text) : NaN
    if (value >= min && value <= max) return value
    this.#complain(name, text, `a number between ${min} and ${max}`)
    return preset
  }

  milliseconds(name: string, preset: number): number {
    return this.number(name, preset, { min: 1, max: MAX_TIMER_MS })
  }

  #complain(name: string, text: string, expected: string): void {
    this.problems.push(`${name} "${text}": expected ${expected}`)
  }
}

/** Whether this is an http or https URL without credentials and query. */
export function isHttpUrl(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined
  return (
    url !== undefined &&
    /^https?:$/.test(url.protocol) &&
    [url.username, url.password, url.search, url.hash].join('') === ''
  )
}

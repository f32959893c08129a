// Which signals are exported, and where to, by --otlp and the variables of OpenTelemetry.

import { expect, test } from 'vitest'
import { readTelemetry, type Variables } from '../../../src/ops/settings/telemetry.js'

const OTLP = 'http://collector:4318'

function exported(variables: Variables, otlp?: string): Record<string, string | undefined> {
  const read = readTelemetry(variables, otlp)
  if (!read.ok) throw new Error(read.error)
  const signals = ['traces', 'metrics', 'logs'] as const
  return Object.fromEntries(
    signals.flatMap((signal) => {
      const own = read.value?.[signal]
      return own === undefined ? [] : [[signal, own.url]]
    }),
  )
}

test('nothing is exported by default, or where the SDK is disabled', () => {
  expect(exported({})).toEqual({})
  expect(exported({ OTEL_EXPORTER_OTLP_ENDPOINT: '' })).toEqual({})
  expect(exported({ OTEL_SDK_DISABLED: 'true' }, OTLP)).toEqual({})
})

test('--otlp names the collector of every signal that no variable names one for', () => {
  const all = {
    traces: `${OTLP}/v1/traces`,
    metrics: `${OTLP}/v1/metrics`,
    logs: `${OTLP}/v1/logs`,
  }
  expect(exported({}, OTLP)).toEqual(all)
  expect(exported({}, `${OTLP}/`)).toEqual(all)
  expect(exported({ OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: 'http://logs' }, OTLP)).toEqual({
    ...all,
    logs: undefined,
  })
  expect(exported({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://other' }, OTLP)).toEqual({
    traces: undefined,
    metrics: undefined,
    logs: undefined,
  })
})

test('an exporter turns a signal on, or off', () => {
  expect(exported({ OTEL_TRACES_EXPORTER: 'otlp' })).toEqual({ traces: undefined })
  expect(exported({ OTEL_METRICS_EXPORTER: 'none', OTEL_LOGS_EXPORTER: 'none' }, OTLP)).toEqual({
    traces: `${OTLP}/v1/traces`,
  })
})

test('samplers and queues are read', () => {
  const read = readTelemetry(
    {
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0.25',
      OTEL_BSP_MAX_QUEUE_SIZE: '100',
      OTEL_METRIC_EXPORT_INTERVAL: '5000',
    },
    OTLP,
  )
  expect(read).toMatchObject({
    ok: true,
    value: {
      traces: {
        sampler: 'parentbased_traceidratio',
        ratio: 0.25,
        batch: { maxQueueSize: 100, maxExportBatchSize: 100, scheduledDelayMillis: 5000 },
      },
      metrics: { intervalMs: 5000 },
    },
  })
})

test.each([
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4317', 'a URL, e.g. http://127.0.0.1:4318'],
  ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc', 'one of http/protobuf'],
  ['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'http/json', 'one of http/protobuf'],
  ['OTEL_TRACES_EXPORTER', 'console', 'one of otlp, none'],
  [
    'OTEL_TRACES_SAMPLER',
    'sometimes',
    'one of always_on, always_off, traceidratio, parentbased_always_on, parentbased_always_off, parentbased_traceidratio',
  ],
  ['OTEL_TRACES_SAMPLER_ARG', '2', 'a number between 0 and 1'],
  ['OTEL_BSP_MAX_QUEUE_SIZE', '0', 'a number between 1 and 65536'],
  ['OTEL_BLRP_SCHEDULE_DELAY', 'soon', 'a number between 1 and 2147483647'],
])('%s "%s" is an error that says what was expected', (name, text, expected) => {
  expect(readTelemetry({ [name]: text }, OTLP)).toEqual({
    ok: false,
    error: `${name} "${text}": expected ${expected}`,
  })
})

test('what the variables ask for in vain is named', () => {
  const unsupportedIn = (variables: Variables): unknown => {
    const read = readTelemetry(variables, OTLP)
    return read.ok && read.value?.unsupported
  }
  expect(
    unsupportedIn({
      OTEL_PROPAGATORS: 'b3, tracecontext,baggage',
      OTEL_SPAN_EVENT_COUNT_LIMIT: '1',
      OTEL_EXPORTER_OTLP_HEADERS: 'a=b',
      OTEL_BLRP_MAX_QUEUE_SIZE: '7',
      OTEL_LOG_LEVEL: '',
      OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY: 'x',
      OTEL_EXPORTER_JAEGER_ENDPOINT: 'secret',
      PATH: '/bin',
    }),
  ).toEqual([
    'OTEL_EXPORTER_JAEGER_ENDPOINT',
    'OTEL_SPAN_EVENT_COUNT_LIMIT',
    'the propagator "b3" of OTEL_PROPAGATORS',
  ])
  expect(unsupportedIn({ OTEL_PROPAGATORS: 'none' })).toEqual([])
  expect(unsupportedIn({})).toEqual([])
})

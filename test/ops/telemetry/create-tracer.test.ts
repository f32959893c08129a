// The context of a span as it is passed on: the parent's trace, and of its tracestate what is well formed.

import { expect, test } from 'vitest'
import { contextWithin, type SentContext } from '../../../src/kit/tracing.js'
import { readTelemetry } from '../../../src/ops/settings/telemetry.js'
import { createTracer } from '../../../src/ops/telemetry/create-tracer.js'
import { createResource } from '../../../src/ops/telemetry/start-telemetry.js'

const TRACE = 'a'.repeat(32)
const PARENT = `00-${TRACE}-${'b'.repeat(16)}-01`

/** Returns the headers of calls within a span, and within a span of that one. Exports nothing. */
async function passedOn(
  sent: SentContext,
  propagators?: string,
): Promise<readonly Readonly<Record<string, string>>[]> {
  const variables = {
    OTEL_TRACES_EXPORTER: 'otlp',
    OTEL_TRACES_SAMPLER: 'always_off',
    OTEL_PROPAGATORS: propagators,
  }
  const settings = readTelemetry(variables, undefined)
  if (!settings.ok || settings.value?.traces === undefined) throw new Error('no traces')
  const resource = createResource('1.0.0', undefined)
  const traces = createTracer(settings.value.traces, resource, () => undefined)
  const outer = traces.tracer.start('outer', { ...sent, kind: 'server' })
  const inner = traces.tracer.start('inner', { ...contextWithin(outer), kind: 'client' })
  for (const span of [inner, outer]) span.end()
  await traces.close()
  return [outer, inner].map(({ headers }) => headers)
}

const many = (count: number, value = 'x'): string =>
  Array.from({ length: count }, (_, index) => `k${String(index)}=${value}`).join(',')

test.each<[string, string | undefined, string | undefined]>([
  ['none', undefined, undefined],
  ['an empty one', '', undefined],
  ['one of one vendor', 'rojo=00f067aa0ba902b7', 'rojo=00f067aa0ba902b7'],
  ['several, in their order', 'b=2 ,\ta=1,0t@v=a b', 'b=2,a=1,0t@v=a b'],
  ['empty members', ',a=1,,b=2,', 'a=1,b=2'],
  ['malformed members', 'A=1,a=1,=2,b,c==,d=é,\u0000=3,e=2', 'a=1,e=2'],
  ['nothing but malformed members', 'no state at all', undefined],
  ['32 members', many(32), many(32)],
  ['more than 32 members', many(40), many(32)],
  [
    '512 characters',
    `a=${'x'.repeat(254)},b=${'x'.repeat(253)}`,
    `a=${'x'.repeat(254)},b=${'x'.repeat(253)}`,
  ],
  ['more than 512 characters', many(6, 'x'.repeat(100)), many(4, 'x'.repeat(100))],
  ['a megabyte', `a=${'x'.repeat(1_000_000)},b=1`, 'b=1'],
])('of a tracestate: %s', async (_what, state, expected) => {
  for (const headers of await passedOn({ parent: PARENT, state })) {
    expect(headers['traceparent']).toMatch(new RegExp(`^00-${TRACE}-[0-9a-f]{16}-00$`))
    expect(headers['tracestate']).toBe(expected)
  }
})

test.each([undefined, 'x', `ff-${TRACE}-${'b'.repeat(16)}-01`])(
  'a tracestate beside the traceparent %s is dropped, as is its trace',
  async (parent) => {
    for (const headers of await passedOn({ parent, state: 'a=1' })) {
      expect(headers['traceparent']).not.toContain(TRACE)
      expect(headers).not.toHaveProperty('tracestate')
    }
  },
)

test.each([
  ['tracecontext', true],
  ['baggage, tracecontext', true],
  ['', true],
  ['baggage', false],
  ['b3', false],
  ['none', false],
])('with OTEL_PROPAGATORS "%s" the context is passed on: %s', async (propagators, isPassedOn) => {
  for (const headers of await passedOn({ parent: PARENT, state: 'a=1' }, propagators))
    expect(Object.keys(headers)).toEqual(isPassedOn ? ['traceparent', 'tracestate'] : [])
})

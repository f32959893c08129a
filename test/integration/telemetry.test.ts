// A collector that is down or hangs: requests through Envoy are decided as usual, and the metrics show what was lost.

import type { ServerResponse } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { freePort } from '../../testing/ports.js'
import { type Backend, startBackend } from '../support/backend.js'
import { send } from '../support/http.js'
import { protectedRoute, provider } from '../support/protected-stack.js'
import { gateway, proxyBackend } from '../support/resources.js'
import { type Stack, startStack } from '../support/stack.js'
import { newKey } from '../support/tokens.js'

const key = await newKey('one')

let backend: Backend

beforeAll(async () => {
  backend = await startBackend()
})
afterAll(() => backend.close())

async function withStack(
  collector: string,
  flags: readonly string[],
  use: (stack: Stack) => Promise<void>,
): Promise<void> {
  const stack = await startStack({
    resources: (port) => [
      gateway([port]),
      proxyBackend('backend', backend),
      ...protectedRoute('api', {
        jwtAuthentication: { providers: [provider([key], { audiences: ['api'] })] },
      }),
    ],
    flags: ['--otlp', collector, ...flags],
    environment: {
      OTEL_BSP_MAX_QUEUE_SIZE: '10',
      OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '5',
      OTEL_BSP_SCHEDULE_DELAY: '50',
      OTEL_METRIC_EXPORT_INTERVAL: '100',
      OTEL_EXPORTER_OTLP_TIMEOUT: '500',
      OTEL_PROPAGATORS: 'tracecontext,b3',
    },
  })
  try {
    await use(stack)
  } finally {
    await stack.close()
  }
}

async function refuseMany(stack: Stack): Promise<void> {
  const answers = await Promise.all(Array.from({ length: 60 }, () => send(stack.origin, '/api')))
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([401]))
}

const untilCounted = (stack: Stack, result: string): Promise<void> =>
  eventually(async () => {
    const series = `gatehouse_exported_total\\{to="otlp",signal="traces",result="${result}"\\}`
    expect(await stack.metrics()).toMatch(new RegExp(`${series} [1-9]`))
  })

test.each(['1', '2'])(
  'a collector that hangs: requests are decided as ever, and what does not fit is dropped (%s processes)',
  async (workers) => {
    const collector = await startBackend('collector')
    collector.answer(() => undefined)
    const url = `http://127.0.0.1:${String(collector.port)}`
    await withStack(url, ['--workers', workers], async (stack) => {
      await refuseMany(stack)
      await eventually(() => {
        expect(collector.requests.map((request) => request.url)).toContain('/v1/traces')
      })
      await refuseMany(stack)
      await untilCounted(stack, 'dropped')
      expect(stack.log().split('propagator').length - 1).toBe(1)
      await refuseMany(stack)
      expect(await stack.stop()).toBe(0)
    })
    await collector.close()
  },
)

test('a collector that is gone: requests are decided as ever', async () => {
  await withStack(`http://127.0.0.1:${String(await freePort())}`, [], async (stack) => {
    await refuseMany(stack)
    await untilCounted(stack, 'failed')
    await refuseMany(stack)
    expect(await stack.stop()).toBe(0)
  })
})

test.each<[string, (response: ServerResponse) => void]>([
  ['10 MB', (response) => void response.writeHead(200).end(Buffer.alloc(10_000_000))],
  ['nonsense', (response) => void response.writeHead(200).end(Buffer.alloc(100_000, 0xff))],
  ['a reset', (response) => void response.socket?.resetAndDestroy()],
  [
    'half an answer',
    (response) => void response.writeHead(200, { 'content-length': 9 }).write('x'),
  ],
  [
    'a wait of a year',
    (response) => void response.writeHead(429, { 'retry-after': '31536000' }).end(),
  ],
  [
    'a redirect to itself',
    (response) => void response.writeHead(307, { location: '/v1/traces' }).end(),
  ],
])('a collector that answers with %s, and recovers: what follows is sent', async (_, answer) => {
  const collector = await startBackend('collector')
  let isWell = false
  collector.answer((_request, response) => {
    if (isWell) response.writeHead(200).end()
    else answer(response)
  })
  await withStack(`http://127.0.0.1:${String(collector.port)}`, [], async (stack) => {
    await refuseMany(stack)
    await eventually(() => {
      expect(collector.requests.map((request) => request.url)).toContain('/v1/traces')
    })
    await refuseMany(stack)
    isWell = true
    const sent = async (): Promise<number> => {
      const series = /^gatehouse_exported_total\{to="otlp",signal="traces",result="sent"\} (\d+)/m
      return Number(series.exec(await stack.metrics())?.[1] ?? 0)
    }
    const before = await sent()
    await eventually(async () => {
      await refuseMany(stack)
      expect(await sent()).toBeGreaterThan(before)
    })
    expect(await stack.stop()).toBe(0)
  })
  await collector.close()
})

// What the main process keeps of its workers' metrics: the counters of ended workers, without routes that are gone.

import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { ToWorker } from '../../../src/control/workers/messages.js'
import { ToldMetrics } from '../../../src/control/workers/metrics-parts.js'
import { WorkerMetrics } from '../../../src/control/workers/worker-pool.js'
import type { AskedPlace } from '../../../src/control/workers/worker-question.js'
import type { MetricsJson } from '../../../src/ops/admin/merged-metrics.js'
import { createMetrics } from '../../../src/ops/admin/metrics.js'

// Their answers are waited for however slow this machine is.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
})
afterEach(() => {
  vi.useRealTimers()
})

interface Worker extends AskedPlace {
  isReady: boolean
  post: AskedPlace['post']
  readonly metrics: ReturnType<typeof createMetrics>
}

const seriesIn = (metrics: MetricsJson): number =>
  metrics.reduce((sum, { values }) => sum + values.length, 0)

/** Workers, each with a check of every route. sizes: gets the number of series in each message. */
function someWorkers(
  count: number,
  routes: readonly string[],
): {
  readonly workers: readonly Worker[]
  readonly all: WorkerMetrics
  readonly sizes: readonly number[]
} {
  const sizes: number[] = []
  const workers = Array.from({ length: count }, (_, index): Worker => {
    const number = index + 1
    const metrics = createMetrics()
    const told = new ToldMetrics(() => metrics.json())
    for (const route of routes) metrics.checks.observe(route, 'allow', 'allowed', 0.001)
    const post = async (message: ToWorker): Promise<void> => {
      if (message.type !== 'metrics') return
      const part = await told.part(message.call, message.part)
      if (part === undefined) return
      sizes.push(seriesIn(part.metrics))
      all.receive(number, part)
    }
    return { number, isReady: true, metrics, post: (message) => void post(message) }
  })
  const all = new WorkerMetrics(workers)
  return { workers, all, sizes }
}

const countsOf = async (all: WorkerMetrics): Promise<readonly string[] | null> =>
  (await createMetrics().text(await all.collect())).match(/^gatehouse_check.*(?:route|count).*$/gm)

test('series of a route that is gone leave the counts of ended and silent workers', async () => {
  const { workers, all } = someWorkers(2, ['default/a', 'default/b'])
  const [ended, silent] = workers
  expect(await countsOf(all)).toEqual([
    'gatehouse_checks_total{route="default/a",decision="allow",reason="allowed"} 2',
    'gatehouse_checks_total{route="default/b",decision="allow",reason="allowed"} 2',
    'gatehouse_check_duration_seconds_count 4',
  ])
  for (const worker of [ended, silent]) if (worker) worker.isReady = false
  all.keep(1)
  all.forgetRoutes(['default/a'])
  expect(await countsOf(all)).toEqual([
    'gatehouse_checks_total{route="default/b",decision="allow",reason="allowed"} 2',
    'gatehouse_check_duration_seconds_count 4',
  ])
})

test('a worker that ends while the counters of ended ones are summed counts once', async () => {
  const routes = Array.from({ length: 5_000 }, (_, index) => `default/${String(index)}`)
  const { workers, all } = someWorkers(3, routes)
  await all.collect()
  for (const worker of workers) worker.isReady = false
  all.keep(1)
  all.keep(2)
  const collected = all.collect()
  // The sum gives way to it.
  setImmediate(() => all.keep(3))
  const text = await createMetrics().text(await collected)
  expect(text).toContain(`gatehouse_check_duration_seconds_count ${String(3 * routes.length)}`)
  expect(await createMetrics().text(await all.collect())).toContain(
    `gatehouse_check_duration_seconds_count ${String(3 * routes.length)}`,
  )
})

test('the metrics of thousands of routes come in parts, for readers at the same time too', async () => {
  const routes = Array.from({ length: 5_000 }, (_, index) => `default/${String(index)}`)
  const { all, sizes } = someWorkers(2, routes)
  const [first, second] = await Promise.all([all.collect(), all.collect()])
  expect(Math.max(...sizes)).toBeLessThanOrEqual(2_000)
  for (const parts of [first, second]) {
    expect(parts).toHaveLength(2)
    const text = await createMetrics().text(parts)
    expect(text.match(/^gatehouse_checks_total\{.* 2$/gm)).toHaveLength(routes.length)
  }
})

test('a reader whose answer is overtaken by a later one has that one', async () => {
  const { workers, all } = someWorkers(1, ['default/a'])
  const [worker] = workers
  const { post } = worker ?? {}
  const late: ToWorker[] = []
  if (worker) worker.post = (message) => void late.push(message)
  const first = all.collect()
  if (worker && post) worker.post = post
  expect(await all.collect()).toHaveLength(1)
  expect(await first).toHaveLength(1)
  expect(late).toHaveLength(1)
})

test('of more readers at the same time than a worker answers, no parts are left', async () => {
  const routes = Array.from({ length: 5_000 }, (_, index) => `default/${String(index)}`)
  const { all } = someWorkers(1, routes)
  await Promise.all(Array.from({ length: 20 }, () => all.collect()))
  expect(all.partsHeld).toBe(0)
})

test('series of routes that are gone are dropped in slices, also while a worker ends', async () => {
  const routes = Array.from({ length: 20_000 }, (_, index) => `default/${String(index)}`)
  const { workers, all } = someWorkers(2, routes)
  await all.collect()
  for (const worker of workers) worker.isReady = false
  all.forgetRoutes(routes.slice(1, 10_000))
  let turns = 0
  const isOver = { now: false }
  const turn = (): void => {
    turns += 1
    if (turns === 2) all.keep(1)
    if (turns === 3) all.forgetRoutes(routes.slice(10_000))
    if (!isOver.now) setImmediate(turn)
  }
  setImmediate(turn)
  const parts = await all.collect()
  isOver.now = true
  expect(turns).toBeGreaterThan(8)
  expect(await createMetrics().text(parts)).not.toContain('route="default/19999"')
  expect(await countsOf(all)).toContain(
    'gatehouse_checks_total{route="default/0",decision="allow",reason="allowed"} 2',
  )
  expect((await countsOf(all))?.join()).not.toMatch(/default\/[1-9]/)
})

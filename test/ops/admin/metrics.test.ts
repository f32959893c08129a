import { describe, expect, test } from 'vitest'
import { createMetrics } from '../../../src/ops/admin/metrics.js'
import type { PolicyCounts, StateSource } from '../../../src/ops/admin/state-gauges.js'
import { countTurns } from '../../support/count-turns.js'
import { slowClock } from '../../support/slow-clock.js'

const stateWith = (more: Partial<StateSource>): StateSource => ({
  resources: () => [],
  policies: () => ({ attached: 0, audited: 0, refused: 0, without_target: 0, pending: 0 }),
  openRoutes: () => 0,
  envoys: () => new Map(),
  keySets: () => [],
  ...more,
})

const seriesOf = async (
  metrics: Pick<ReturnType<typeof createMetrics>, 'text'>,
  name: string,
): Promise<readonly string[]> =>
  (await metrics.text()).split('\n').filter((line) => new RegExp(`^${name}[{ ]`).test(line))

test('nodes that make up names make no series without end', async () => {
  const metrics = createMetrics()
  metrics.xdsNack('Listener', 'envoy-1')
  for (let i = 0; i < 5000; i++) metrics.xdsNack('Listener', `${i} ${'x'.repeat(1000)}`)
  metrics.xdsNack('Listener', 'envoy-1')
  const lines = (await metrics.text())
    .split('\n')
    .filter((line) => /^gatehouse_xds_nacks/.test(line))
  expect(lines).toContain('gatehouse_xds_nacks_total{type="Listener",node="envoy-1"} 2')
  expect(lines).toContain('gatehouse_xds_nacks_total{type="Listener",node="other"} 4901')
  expect(lines).toHaveLength(101)
  expect(lines.join('').length).toBeLessThan(20_000)
})

test('policies have a series for each state, before any is known and when none is left', async () => {
  const metrics = createMetrics()
  const lines = async (): Promise<readonly string[]> =>
    (await metrics.text()).split('\n').filter((line) => line.startsWith('gatehouse_policies{'))
  const series = (...counts: readonly number[]): readonly string[] =>
    ['attached', 'audited', 'refused', 'without_target', 'pending'].map(
      (state, at) => `gatehouse_policies{state="${state}"} ${counts[at] ?? 0}`,
    )
  const some: PolicyCounts = { attached: 3, audited: 4, refused: 1, without_target: 2, pending: 1 }
  expect(await lines()).toEqual(series(0, 0, 0, 0, 0))
  metrics.state(stateWith({ policies: () => some }))
  expect(await lines()).toEqual(series(3, 4, 1, 2, 1))
  metrics.state(stateWith({}))
  expect(await lines()).toEqual(series(0, 0, 0, 0, 0))
})

test('checks are counted by route, decision and reason, from one reading to the next', async () => {
  const metrics = createMetrics()
  const { checks } = metrics
  const counts = async (): Promise<readonly string[]> =>
    (await metrics.text())
      .split('\n')
      .filter((line) => /^gatehouse_check(s_total|_.*count)/.test(line))
  checks.observe('default/a', 'allow', 'allowed', 0.001)
  checks.observe('default/a', 'allow', 'allowed', 0.001)
  checks.observe('default/a', 'deny', 'rule', 0.001)
  checks.observe('default/b', 'allow', 'allowed', 0.001)
  await counts()
  checks.observe('default/a', 'allow', 'allowed', 0.001)
  expect((await counts()).toSorted()).toEqual([
    'gatehouse_check_duration_seconds_count 5',
    'gatehouse_checks_total{route="default/a",decision="allow",reason="allowed"} 3',
    'gatehouse_checks_total{route="default/a",decision="deny",reason="rule"} 1',
    'gatehouse_checks_total{route="default/b",decision="allow",reason="allowed"} 1',
  ])
})

test('the durations of checks are a histogram of Prometheus', async () => {
  const metrics = createMetrics()
  for (const seconds of [0.00001, 0.00005, 0.0002, 0.3, 7])
    metrics.checks.observe('default/a', 'allow', 'allowed', seconds)
  const lines = (await metrics.text())
    .split('\n')
    .filter((line) => line.includes('gatehouse_check_duration_seconds'))
  expect(lines).toEqual([
    '# HELP gatehouse_check_duration_seconds Time from a check request to its answer.',
    '# TYPE gatehouse_check_duration_seconds histogram',
    ...[
      ['0.00005', 2],
      ['0.0001', 2],
      ['0.00025', 3],
      ['0.0005', 3],
      ['0.001', 3],
      ['0.0025', 3],
      ['0.005', 3],
      ['0.01', 3],
      ['0.025', 3],
      ['0.1', 3],
      ['0.5', 4],
      ['1', 4],
      ['+Inf', 5],
    ].map(([le, count]) => `gatehouse_check_duration_seconds_bucket{le="${le}"} ${count}`),
    expect.stringMatching(/^gatehouse_check_duration_seconds_sum 7\.30/),
    'gatehouse_check_duration_seconds_count 5',
  ])
})

test('an Envoy that goes leaves its version at 0, and versions that are made up share one series', async () => {
  const metrics = createMetrics()
  expect(await seriesOf(metrics, 'gatehouse_envoys')).toEqual([
    'gatehouse_envoys{version="unknown"} 0',
  ])
  metrics.state(stateWith({ envoys: () => new Map([['1.40.0', 2]]) }))
  expect(await seriesOf(metrics, 'gatehouse_envoys')).toContain(
    'gatehouse_envoys{version="1.40.0"} 2',
  )
  const made = new Map(Array.from({ length: 1000 }, (_, i) => [`9.${i}.0`, 1]))
  metrics.state(stateWith({ envoys: () => made }))
  const lines = await seriesOf(metrics, 'gatehouse_envoys')
  expect(lines).toHaveLength(20)
  expect(lines).toContain('gatehouse_envoys{version="1.40.0"} 0')
  expect(lines).toContain('gatehouse_envoys{version="unknown"} 982')
})

test('refused tokens of Envoys are counted by reason where tokens are expected', async () => {
  const metrics = createMetrics()
  const name = 'gatehouse_envoy_tokens_refused_total'
  expect(await seriesOf(metrics, name)).toEqual([])
  metrics.state(stateWith({ tokenRefusals: () => ({ none: 2, limit: 0 }) }))
  for (let scrape = 0; scrape < 2; scrape++)
    expect(await seriesOf(metrics, name)).toEqual([
      `${name}{reason="none"} 2`,
      `${name}{reason="limit"} 0`,
    ])
})

test('key sets are counted by state, and those that were fetched have the time of it', async () => {
  const metrics = createMetrics()
  const fresh = { url: 'https://idp/keys?secret=1', hasKeys: true, isFailing: false, fetchedAt: 9 }
  const stale = {
    url: 'https://old/keys',
    hasKeys: true,
    isFailing: true,
    fetchedAt: 7,
    attemptedAt: 10,
  }
  const missing = { url: 'https://none/keys', hasKeys: false, isFailing: true, attemptedAt: 11 }
  metrics.state(stateWith({ keySets: () => [fresh, stale, missing] }))
  expect(await seriesOf(metrics, 'gatehouse_key_sets')).toEqual([
    'gatehouse_key_sets{state="fresh"} 1',
    'gatehouse_key_sets{state="stale"} 1',
    'gatehouse_key_sets{state="missing"} 1',
  ])
  const times = 'gatehouse_key_set_last_fetch_timestamp_seconds'
  expect(await seriesOf(metrics, times)).toEqual([
    `${times}{url="https://idp/keys"} 9`,
    `${times}{url="https://old/keys"} 7`,
  ])
  const attempts = 'gatehouse_key_set_last_attempt_timestamp_seconds'
  expect(await seriesOf(metrics, attempts)).toEqual([
    `${attempts}{url="https://none/keys"} 11`,
    `${attempts}{url="https://old/keys"} 10`,
  ])
  metrics.state(stateWith({ keySets: () => [fresh] }))
  expect(await seriesOf(metrics, times)).toEqual([`${times}{url="https://idp/keys"} 9`])
  const many = Array.from({ length: 500 }, (_, i) => ({ ...fresh, url: `https://${i}/keys` }))
  metrics.state(stateWith({ keySets: () => many }))
  expect(await seriesOf(metrics, times)).toHaveLength(100)
})

test('what may be held is not multiplied by workers', async () => {
  const worker = createMetrics(() => 5)
  const text = await createMetrics(() => 1, 100).text([await worker.json()])
  expect(text).toContain('\ngatehouse_held_bytes 6\n')
  expect(text).toContain('\ngatehouse_held_bytes_limit 100\n')
})

const VERDICTS = 'gatehouse_guardrail_verdicts_total'
const DURATION = 'gatehouse_guardrail_webhook_duration_seconds'

test('verdicts and their durations are counted by webhook and phase, over all scrapes and processes', async () => {
  const [main, worker] = [createMetrics(), createMetrics()]
  const allow = { webhook: 'default/w', phase: 'request', outcome: 'allow' } as const
  const busy = { ...allow, phase: 'response', outcome: 'fail-open', reason: 'busy' } as const
  const audited = { ...allow, mode: 'audit' } as const
  main.guardrails.verdict(allow, 0.001)
  main.guardrails.verdict(allow, 0.003)
  main.guardrails.verdict(busy, 40)
  expect(await seriesOf(main, VERDICTS)).toEqual([
    `${VERDICTS}{webhook="default/w",phase="request",outcome="allow"} 2`,
    `${VERDICTS}{webhook="default/w",phase="response",outcome="fail-open",reason="busy"} 1`,
  ])
  main.guardrails.verdict(allow, 0.001)
  main.guardrails.verdict(audited, 0.001)
  worker.guardrails.verdict(allow, 0.001)
  const text = await main.text([await worker.json()])
  const lines = text.split('\n').filter((line) => /^gatehouse_guardrail_[vw]/.test(line))
  expect(lines).toEqual(
    expect.arrayContaining([
      `${VERDICTS}{webhook="default/w",phase="request",outcome="allow"} 4`,
      `${VERDICTS}{webhook="default/w",phase="request",outcome="allow",mode="audit"} 1`,
      `${DURATION}_bucket{le="0.001",webhook="default/w",phase="request"} 4`,
      `${DURATION}_bucket{le="0.005",webhook="default/w",phase="request"} 5`,
      `${DURATION}_bucket{le="+Inf",webhook="default/w",phase="request"} 5`,
      `${DURATION}_count{webhook="default/w",phase="request"} 5`,
      `${DURATION}_bucket{le="30",webhook="default/w",phase="response"} 0`,
      `${DURATION}_count{webhook="default/w",phase="response"} 1`,
      `${DURATION}_sum{webhook="default/w",phase="response"} 40`,
    ]),
  )
})

const TOKENS = 'gatehouse_llm_tokens_total'

test('tokens are counted by route, model and type', async () => {
  const { guardrails, ...metrics } = createMetrics()
  guardrails.tokens('default/a', { model: 'm', inputTokens: 10, outputTokens: 5 })
  guardrails.tokens('default/a', { model: 'm', inputTokens: 1, outputTokens: 0 })
  guardrails.tokens('default/b', { inputTokens: 7 })
  guardrails.tokens('default/c', { model: 'said no counts' })
  expect(await seriesOf(metrics, TOKENS)).toEqual([
    `${TOKENS}{route="default/a",model="m",type="input"} 11`,
    `${TOKENS}{route="default/a",model="m",type="output"} 5`,
    `${TOKENS}{route="default/b",model="unknown",type="input"} 7`,
  ])
})

test('models that a server makes up make 100 series of a route and "other", in text that can be scraped', async () => {
  const { guardrails, ...metrics } = createMetrics()
  for (let index = 0; index < 5000; index++)
    guardrails.tokens('default/a', { model: `${index} ${'x'.repeat(1000)}`, inputTokens: 1 })
  guardrails.tokens('default/b', { model: '\ud800\n"\\', inputTokens: 2 })
  guardrails.tokens('default/b', { model: '\udfff\r"\\', inputTokens: 3 })
  const lines = await seriesOf(metrics, TOKENS)
  const ofA = lines.filter((line) => line.includes('route="default/a"'))
  expect(ofA).toHaveLength(101)
  expect(ofA).toContain(`${TOKENS}{route="default/a",model="other",type="input"} 4900`)
  expect(ofA.join('').length).toBeLessThan(20_000)
  expect(lines.filter((line) => line.includes('route="default/b"'))).toEqual([
    `${TOKENS}{route="default/b",model="\ufffd\ufffd\\"\\\\",type="input"} 5`,
  ])
})

describe.each([1, 4])('of %i workers', (count) => {
  /** Main process and workers. Each worker has 50 models of its own, and one that all have. */
  function processes() {
    const main = createMetrics()
    const workers = Array.from({ length: count }, () => createMetrics())
    const counts = async (order = workers): Promise<ReadonlyMap<string, number>> => {
      const text = await main.text(await Promise.all(order.map((worker) => worker.json())))
      const found = text.matchAll(/^gatehouse_llm_tokens_total\{.*model="([^"]*)".*\} (\d+)$/gm)
      return new Map([...found].map(([, model = '', tokens]) => [model, Number(tokens)]))
    }
    const use = (worker: number, model: string, inputTokens = 1): void =>
      workers[worker]?.guardrails.tokens('default/a', { model, inputTokens })
    return { main, workers, counts, use }
  }
  const sum = (counts: ReadonlyMap<string, number>): number =>
    [...counts.values()].reduce((total, tokens) => total + tokens, 0)

  test('the models of a route are at most 100 in all, and every token is counted', async () => {
    const { main, workers, counts, use } = processes()
    for (let worker = 0; worker < count; worker++) {
      use(worker, 'all')
      for (let index = 0; index < 50; index++) use(worker, `m${String(worker)}-${String(index)}`)
    }
    const first = await counts()
    expect(first.size).toBe(count === 1 ? 51 : 101)
    expect(first.get('all')).toBe(count)
    expect(first.get('other')).toBe(count === 1 ? undefined : 51 * 4 - 99 - 4)
    expect(sum(first)).toBe(51 * count)
    const others = await Promise.all(workers.map((worker) => worker.json()))
    const merged = await main.merged(others)
    expect(merged.find(({ name }) => name === TOKENS)?.values).toHaveLength(first.size)
  })

  test('no series falls or goes when models come that sort before it', async () => {
    const { workers, counts, use } = processes()
    for (let index = 0; index < 80; index++) use(index % count, `m${String(index)}`)
    const before = await counts()
    for (let index = 0; index < 40; index++) use(index % count, `a${String(index)}`)
    const after = await counts(workers.toReversed())
    for (const [model, tokens] of before) expect(after.get(model)).toBe(tokens)
    expect([after.size, after.get('other'), sum(after)]).toEqual([101, 20, 120])
    for (let index = 0; index < 40; index++) use(index % count, `a${String(index)}`)
    const last = await counts()
    for (const [model, tokens] of after) expect(last.get(model)).toBeGreaterThanOrEqual(tokens)
    expect([last.size, sum(last)]).toEqual([101, 160])
  })

  test('a route that comes back has 100 models again', async () => {
    const { workers, counts, use } = processes()
    for (let index = 0; index < 150; index++) use(index % count, `m${String(index)}`)
    expect((await counts()).size).toBe(101)
    for (const worker of workers) await worker.forgetRoutes(['default/a'])
    expect((await counts()).size).toBe(0)
    use(0, 'new')
    expect([...(await counts())]).toEqual([['new', 1]])
  })
})

test('counts that no reply can have neither break the counter nor use it up', async () => {
  const { guardrails, ...metrics } = createMetrics()
  for (const inputTokens of [-1, 0.5, Number.NaN, Infinity, 2 ** 60, Number.MAX_SAFE_INTEGER, 1])
    guardrails.tokens('default/a', { model: 'm', inputTokens })
  expect(await seriesOf(metrics, TOKENS)).toEqual([
    `${TOKENS}{route="default/a",model="m",type="input"} 100000001`,
  ])
})

test('series of routes that are gone are removed, and begin again if the routes come back', async () => {
  const metrics = createMetrics()
  const { checks, guardrails } = metrics
  const ofRoutes = async (): Promise<readonly string[]> =>
    (await metrics.text()).split('\n').filter((line) => line.includes('route="'))
  const use = (route: string): void => {
    checks.observe(route, 'allow', 'allowed', 0.001)
    checks.observe(route, 'deny', 'rule', 0.001)
    checks.audited(route, 'deny', 'rule')
    guardrails.tokens(route, { model: 'm', inputTokens: 1, outputTokens: 1 })
  }
  for (const route of ['default/a', 'default/b', 'default/c']) use(route)
  for (let index = 0; index < 200; index++)
    guardrails.tokens('default/a', { model: `m${String(index)}`, outputTokens: 1 })
  expect(await ofRoutes()).toHaveLength(115)
  checks.observe('default/a', 'allow', 'anonymous', 0.001)
  await metrics.forgetRoutes(['default/a', 'default/b', 'default/never-seen'])
  const left = await ofRoutes()
  expect(left).toHaveLength(5)
  expect(left.every((line) => line.includes('route="default/c"'))).toBe(true)
  use('default/a')
  const again = (await ofRoutes()).filter((line) => line.includes('route="default/a"'))
  expect(again).toHaveLength(5)
  expect(again.every((line) => line.endsWith(' 1'))).toBe(true)
})

test('series of thousands of routes that are gone are removed in slices', async () => {
  const metrics = createMetrics()
  const routes = Array.from({ length: 50_000 }, (_, index) => `default/${String(index)}`)
  for (const route of routes) metrics.checks.observe(route, 'allow', 'allowed', 0.001)
  slowClock()
  const { turns } = await countTurns(() => metrics.forgetRoutes(routes))
  // A slice ends 4 ms after it began: with this clock, after about four routes.
  expect(turns).toBeGreaterThan(routes.length / 5)
  expect(await metrics.text()).not.toContain('route="')
})

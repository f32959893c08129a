// The Grafana dashboard of deploy/grafana: its shape, and that its queries read metrics and labels that exist.

import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { createMetrics } from '../src/ops/admin/metrics.js'
import { everyMetric } from './support/every-metric.js'
import { someRows } from './support/some-rows.js'

const FILE = resolve(import.meta.dirname, '../deploy/grafana/gatehouse.json')

const datasource = z.strictObject({
  type: z.literal('prometheus'),
  uid: z.literal('${datasource}'),
})
const gridPos = z.strictObject({
  h: z.int().min(1),
  w: z.int().min(1).max(24),
  x: z.int().min(0).max(23),
  y: z.int().min(0),
})
const row = z.strictObject({
  id: z.int().min(1),
  type: z.literal('row'),
  title: z.string().min(1),
  gridPos,
  collapsed: z.literal(false),
  panels: z.tuple([]),
})
const target = z.strictObject({
  refId: z.string().regex(/^[A-Z]$/),
  datasource,
  expr: z.string().min(1),
  legendFormat: z.string().min(1),
  editorMode: z.literal('code'),
  range: z.literal(true),
})
const graph = z.strictObject({
  id: z.int().min(1),
  type: z.enum(['timeseries', 'stat']),
  title: z.string().min(1),
  description: z.string().regex(/\.$/),
  datasource,
  gridPos,
  fieldConfig: z.strictObject({
    defaults: z.looseObject({ unit: z.enum(['none', 'short', 'reqps', 's', 'bytes']) }),
    overrides: z.tuple([]),
  }),
  options: z.looseObject({}),
  targets: z.array(target).min(1),
})
const dashboard = z.looseObject({
  uid: z.literal('gatehouse'),
  title: z.literal('Gatehouse'),
  schemaVersion: z.int().min(36),
  time: z.strictObject({ from: z.string(), to: z.string() }),
  templating: z.strictObject({
    list: z.tuple([
      z.looseObject({ name: z.literal('datasource'), type: z.literal('datasource') }),
      z.looseObject({ name: z.literal('job'), type: z.literal('query'), datasource }),
    ]),
  }),
  panels: z.array(z.discriminatedUnion('type', [row, graph])),
})

const { panels } = dashboard.parse(JSON.parse(readFileSync(FILE, 'utf8')))
const graphs = panels.filter((panel) => panel.type !== 'row')
const queries = graphs.flatMap(({ title, targets }) =>
  targets.map(({ expr, legendFormat }) => ({ title, expr, legendFormat })),
)

test('panels have an id and a place of their own', () => {
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
  const cells = panels.flatMap(({ gridPos: { h, w, x, y } }) =>
    Array.from({ length: h * w }, (_, at) => `${x + (at % w)} ${y + Math.floor(at / w)}`),
  )
  expect(new Set(cells).size).toBe(cells.length)
  expect(panels.filter(({ gridPos: { x, w } }) => x + w > 24)).toEqual([])
})

test.each(someRows(queries))('$title reads metrics and labels that exist: $expr', async (query) => {
  const { expr, legendFormat } = query
  const names = [...expr.matchAll(/\b((?:gatehouse|nodejs|process)_\w+?)(?:_bucket)?\{/g)]
  const served = await everyMetric()
  const text = await createMetrics().text()
  const labels = ['job', 'le']
  for (const [, name = ''] of names) {
    const own = served.find((metric) => metric.name === name)
    expect(own ?? text).toEqual(own ?? expect.stringContaining(`# TYPE ${name} `))
    labels.push(...(own?.labels ?? []))
  }
  expect(names).toHaveLength(1)
  const used = [
    ...[...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(/, */)),
    ...[...expr.matchAll(/[{,](\w+)[=!]/g)].map(([, label = '']) => label),
    ...[...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = '']) => label),
  ]
  expect(used.filter((label) => !labels.includes(label))).toEqual([])
  expect(expr).toContain('{job=~"$job"')
})

test('it shows what an operator asks for', () => {
  const all = queries.map(({ expr }) => expr).join('\n')
  for (const name of [
    'checks_total',
    'guardrail_verdicts_total',
    'guardrail_webhook_duration_seconds',
    'llm_tokens_total',
    'key_set_last_fetch_timestamp_seconds',
    'envoys',
    'held_bytes',
    'open_streams',
    'policies',
    'open_routes',
    'xds_nacks_total',
  ])
    expect(all).toMatch(new RegExp(`\\bgatehouse_${name}(?:_bucket)?\\{`))
  expect(all).toContain('nodejs_eventloop_lag_p99_seconds{')
})

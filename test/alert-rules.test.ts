// The alerts of deploy/prometheus: the metrics and labels that they use exist, and the page and the chart contain them
// all.

import { readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { everyMetric } from './support/every-metric.js'
import { someRows } from './support/some-rows.js'

const ROOT = resolve(import.meta.dirname, '..')
const RULES = resolve(ROOT, 'deploy/prometheus/gatehouse-rules.yaml')
const CHART_COPY = resolve(ROOT, 'deploy/helm/gatehouse/files/gatehouse-rules.yaml')
/** Prometheus adds these when it scrapes. */
const TARGET_LABELS = ['namespace', 'job']

interface Alert {
  readonly alert: string
  readonly expr: string
}

const text = readFileSync(RULES, 'utf8')
const { groups } = parse(text) as { readonly groups: readonly { readonly rules: Alert[] }[] }
const alerts = groups.flatMap(({ rules }) => rules)

const found = (expr: string, pattern: RegExp): readonly string[] =>
  [...expr.matchAll(pattern)].flatMap(([, list = '']) => list.split(/, */))

test.each(someRows(alerts))('$alert reads metrics and labels that exist', async ({ expr }) => {
  const served = await everyMetric()
  const names = found(expr, /\b(gatehouse_\w+)/g)
  const read = served.filter(({ name }) => names.includes(name))
  expect(names.length).toBeGreaterThan(0)
  expect(read.map(({ name }) => name).toSorted()).toEqual([...new Set(names)].toSorted())
  const labels = [...found(expr, /\bby \(([^)]*)\)/g), ...found(expr, /[{,](\w+)=/g)]
  const known = [...TARGET_LABELS, ...read.flatMap((metric) => metric.labels)]
  expect(labels.filter((label) => !known.includes(label))).toEqual([])
})

test('the page explains each alert', () => {
  const page = readFileSync(resolve(ROOT, 'docs/metrics.md'), 'utf8')
  const explained = [...page.matchAll(/^\| `(Gatehouse\w+)`/gm)].map(([, name]) => name)
  expect(explained).toEqual(alerts.map(({ alert }) => alert))
})

test('the chart has the same rules', () => {
  if (process.env.UPDATE_GOLDEN === '1') writeFileSync(CHART_COPY, text)
  else expect(readFileSync(CHART_COPY, 'utf8')).toBe(text)
})

// docs/metrics.md lists each metric of /metrics with its type and labels, and nothing else.

import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { createMetrics } from '../src/ops/admin/metrics.js'
import { everyMetric } from './support/every-metric.js'

const PAGE = resolve(import.meta.dirname, '../docs/metrics.md')
const NODE = /^(?:process|nodejs)_/

interface Row {
  readonly name: string
  readonly type: string
  readonly labels: readonly string[]
}

const byName = (a: Row, b: Row): number => (a.name < b.name ? -1 : 1)

function documented(): readonly Row[] {
  const rows = readFileSync(PAGE, 'utf8').matchAll(/^\| `(gatehouse_\w+)` +\|([^|]*)\|([^|]*)\|/gm)
  return [...rows]
    .map(([, name = '', type = '', labels = '']) => ({
      name,
      type: type.trim(),
      labels: [...labels.matchAll(/`(\w+)`/g)].map(([, label]) => label ?? '').sort(),
    }))
    .sort(byName)
}

test('the table has every metric of Gatehouse with its type and labels, and no other', async () => {
  const served = await everyMetric()
  const own = served.filter(({ name }) => !NODE.test(name)).toSorted(byName)
  expect(documented()).toEqual(own)
})

test('every row has a unit and a meaning', () => {
  const page = readFileSync(PAGE, 'utf8')
  const rows = [...page.matchAll(/^\| `gatehouse_.*$/gm)].map(([row]) => row.split('|'))
  expect(rows.filter((cells) => cells.length !== 7 || cells[4]?.trim() === '')).toEqual([])
  expect(rows.filter((cells) => !/^ [A-Z].*\. *$/.test(cells[5] ?? ''))).toEqual([])
})

test('the metrics of Node on the page are served', async () => {
  const page = readFileSync(PAGE, 'utf8')
  expect(page).toContain('| `process_*`, `nodejs_*`')
  const named = [...page.matchAll(/`((?:process|nodejs)_\w+[a-z])`/g)].map(([, name]) => name)
  expect(named).toContain('nodejs_eventloop_lag_p99_seconds')
  const text = await createMetrics().text()
  expect(named.filter((name) => !text.includes(`# TYPE ${name} `))).toEqual([])
})

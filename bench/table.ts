// Formats numbers as cells and cells as Markdown tables, and describes the machine.

import { cpus } from 'node:os'
import type { Row } from './measure.js'
import { median } from './median.js'
import { ratioOf, type Spread, spreadOf } from './spread.js'

const NONE = '–'

export const milli = (value: number): string => `${value.toFixed(2)} ms`
export const megabytes = (value: number): string => `${value.toFixed(0)} MB`

/** Formats a spread as "12 (11–14)": median, lowest and highest; as "12" if they are the same. */
export const spreadCell = ({ median: middle, low, high }: Spread, digits = 0): string =>
  low === high
    ? middle.toFixed(digits)
    : `${middle.toFixed(digits)} (${low.toFixed(digits)}–${high.toFixed(digits)})`

const micro = (values: readonly number[] | undefined): string =>
  values === undefined ? NONE : `${spreadCell(spreadOf(values))} µs`

export const machine = (): string =>
  `Measured with Node ${process.versions.node} on ${cpus()[0]?.model ?? 'an unknown CPU'} (${String(cpus().length)} cores).`

export const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map((line) => `| ${line.join(' | ')} |`).join('\n')

/** @throws {Error} if no row has that name. */
export function rowNamed(rows: readonly Row[], name: string): Row {
  const row = rows.find((each) => each.name === name)
  if (row === undefined) throw new Error(`the row ${name} is missing`)
  return row
}

/** @param yardsticks rows of no-op servers, to whose CPU time the others are compared. */
export const loadHead = (yardsticks: readonly Row[]): readonly string[] => [
  'variant',
  'Envoy CPU',
  'server CPU',
  'CPU added',
  ...yardsticks.map(({ name }) => `server CPU, to ${name}`),
  'p50 / p99, 1 connection',
  'p50 / p99, 32 connections',
  'requests/s',
]

/** @param plain the row of an Envoy without a filter. */
export const loadCells = (row: Row, plain: Row, yardsticks: readonly Row[]): readonly string[] => [
  row.name,
  micro(row.envoyCpu),
  micro(row.serverCpu),
  row === plain ? NONE : `${(total(row) - total(plain)).toFixed(0)} µs`,
  ...yardsticks.map((yardstick) => cpuRatio(row, yardstick)),
  latency(row.one),
  latency(row.many),
  row.requestsPerSecond.median.toFixed(0),
]

const latency = ({ p50, p99 }: Row['one']): string =>
  `${milli(median(p50))} / ${milli(median(p99))}`

const total = ({ envoyCpu, serverCpu }: Row): number =>
  median(envoyCpu) + (serverCpu === undefined ? 0 : median(serverCpu))

const cpuRatio = ({ serverCpu }: Row, yardstick: Row): string =>
  serverCpu === undefined || yardstick.serverCpu === undefined
    ? NONE
    : spreadCell(ratioOf(serverCpu, yardstick.serverCpu), 2)

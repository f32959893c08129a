// Numbers → cells, cells → a table in Markdown; and what they were measured with.

import { cpus } from 'node:os'
import type { Row } from './measure.js'

export const micro = (value: number | undefined): string =>
  value === undefined ? '–' : `${value.toFixed(0)} µs`
export const milli = (value: number): string => `${value.toFixed(2)} ms`
export const megabytes = (value: number): string => `${value.toFixed(0)} MB`

export const machine = (): string =>
  `Measured with Node ${process.versions.node} on ${cpus()[0]?.model ?? 'an unknown CPU'} (${String(cpus().length)} cores).`

export const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map((line) => `| ${line.join(' | ')} |`).join('\n')

export const LOAD_HEAD = [
  'variant',
  'Envoy CPU',
  'server CPU',
  'CPU added',
  'server, to no-op',
  'p50 / p99, 1 connection',
  'p50 / p99, 32 connections',
  'requests/s',
]

/** plain: the row of an Envoy that does nothing. noop: that of the server that does nothing. */
export const loadCells = (row: Row, plain: Row, noop: Row): readonly string[] => [
  row.name,
  micro(row.envoyCpu),
  micro(row.serverCpu),
  row === plain ? '–' : micro(total(row) - total(plain)),
  ratio(row, noop),
  `${milli(row.one.p50)} / ${milli(row.one.p99)}`,
  `${milli(row.saturated.p50)} / ${milli(row.saturated.p99)}`,
  row.saturated.requestsPerSecond.toFixed(0),
]

const total = (row: Row): number => row.envoyCpu + (row.serverCpu ?? 0)

const ratio = (row: Row, noop: Row): string =>
  row.serverCpu === undefined || noop.serverCpu === undefined
    ? '–'
    : (row.serverCpu / noop.serverCpu).toFixed(2)

// What guardrails cost, as a section of docs/performance.md.

import { EVENT_MS, EVENTS } from './chat.js'
import type { GuardRows } from './guards.js'
import type { Row } from './measure.js'
import { type MemoryRow, OPEN_STREAMS, type StreamRow } from './streams.js'
import { LOAD_HEAD, loadCells, megabytes, milli, table } from './table.js'

export function reportGuards({ replies, streams, memory }: GuardRows): string {
  const [plain, noop] = replies
  if (plain === undefined || noop === undefined) throw new Error('a row is missing')
  return `${PREFACE}
${table(
  [...LOAD_HEAD, 'added p50 / p99, 1 connection'],
  replies.map((row) => [...loadCells(row, plain, noop), addedLatency(row, plain)]),
)}

${STREAMS}
${table(['variant', 'first text', 'last', 'first text, later by'], streamCells(streams))}

${MEMORY}
${table(['variant', 'idle', `${String(OPEN_STREAMS)} streams`, 'each'], memory.map(memoryCells))}
`
}

const addedLatency = (row: Row, plain: Row): string =>
  row === plain
    ? '–'
    : `${milli(row.one.p50 - plain.one.p50)} / ${milli(row.one.p99 - plain.one.p99)}`

const streamCells = (rows: readonly StreamRow[]): readonly (readonly string[])[] =>
  rows.map(({ name, first, last }, index) => [
    name,
    milli(first),
    milli(last),
    index === 0 ? '–' : milli(first - (rows[0]?.first ?? NaN)),
  ])

const memoryCells = ({ name, idle, open }: MemoryRow): readonly string[] => [
  name,
  megabytes(idle),
  megabytes(open),
  `${(((open - idle) * 1024) / OPEN_STREAMS).toFixed(0)} kB`,
]

const PREFACE = `## Guardrails

Chat completions of about 2 kB each way, in another Envoy with a listener per variant, to an LLM on loopback that answers at
once. The no-op ext_proc is grpc-js passing on every message as it comes, in the same full-duplex mode: what any ext_proc
server on this runtime costs at least. Gatehouse asks a webhook on loopback about every prompt and every reply, so that a
request is four calls instead of one; the webhook's own CPU is not counted, its time is.
`

const STREAMS = `A stream of ${String(EVENTS)} events, one every ${String(EVENT_MS)} ms, one client: time to the first text and to the end (medians). A guarded stream holds back
256 characters, which the LLM must have said first.
`

const MEMORY = `Memory (RSS) of the server behind the filter with ${String(OPEN_STREAMS)} streams open at once, each in the middle of its reply.
`

// Formats the cost of guardrails as a section of docs/performance.md.

import { EVENT_MS, EVENTS } from './chat.js'
import { type GuardRows, NO_GUARD, NOOP, WEBHOOK } from './guards.js'
import type { Row } from './measure.js'
import { median } from './median.js'
import { type Spread, spreadOf } from './spread.js'
import { type MemoryRow, OPEN_STREAMS, type StreamRow, STREAMS, type TokenRow } from './streams.js'
import { loadCells, loadHead, megabytes, milli, rowNamed, spreadCell, table } from './table.js'

export function reportGuards({ replies, streams, tokens, memory }: GuardRows): string {
  const [plain, noop] = [rowNamed(replies, NO_GUARD), rowNamed(replies, NOOP)]
  const webhook = rowNamed(replies, WEBHOOK)
  const rows = replies.filter((row) => row !== webhook)
  return `${PREFACE}
${table(
  [...loadHead([noop]), 'added p50, 1 connection'],
  rows.map((row) => [...loadCells(row, plain, [noop]), addedCell(row, plain)]),
)}

A webhook that is asked directly, between chats through the no-op ext_proc, takes ${milli(median(webhook.one.p50))} (p50, 1 connection); a guarded chat asks two of them.

${ONE_BY_ONE}
${table(['variant', 'first text', 'last', 'first text, later by'], streamCells(streams))}

${TOKENS}
${table(
  ['variant', 'server CPU per token'],
  tokens.map((row) => [row.name, tokenCell(row)]),
)}

${MEMORY}
${table(['variant', 'idle', `${String(OPEN_STREAMS)} streams`, 'each'], memory.map(memoryCells))}
`
}

/** Added latency of one chat compared with no guard, in milliseconds, over all rounds. */
export const addedLatency = (row: Row, plain: Row): Spread =>
  spreadOf(row.one.p50.map((value, round) => value - (plain.one.p50[round] ?? NaN)))

const addedCell = (row: Row, plain: Row): string =>
  row === plain ? '–' : milliSpread(addedLatency(row, plain))

const milliSpread = (spread: Spread): string => `${spreadCell(spread, 2)} ms`

const tokenCell = ({ cpu }: TokenRow): string => `${spreadCell(spreadOf(cpu))} µs`

const streamCells = (rows: readonly StreamRow[]): readonly (readonly string[])[] =>
  rows.map(({ name, first, last }, index) => [
    name,
    milliSpread(spreadOf(first)),
    milliSpread(spreadOf(last)),
    index === 0 ? '–' : milli(median(first) - median(rows[0]?.first ?? [])),
  ])

/** Kilobytes per open stream. */
export const streamMemory = ({ idle, open }: MemoryRow): number =>
  ((open - idle) * 1024) / OPEN_STREAMS

const memoryCells = (row: MemoryRow): readonly string[] => [
  row.name,
  megabytes(row.idle),
  megabytes(row.open),
  `${streamMemory(row).toFixed(0)} kB`,
]

const PREFACE = `## Guardrails

Chat completions of about 2 kB each way, in another Envoy with a listener per variant, to an LLM on loopback that answers at
once. The no-op ext_proc is grpc-js passing on every message as it comes, in the same full-duplex mode: what any ext_proc
server on this runtime costs at least. The Go no-op is the same of grpc-go. Gatehouse asks a webhook on loopback about every prompt and every reply, so that a
request is four calls instead of one; the webhook's own CPU is not counted, its time is.
`

const ONE_BY_ONE = `A stream of ${String(EVENTS)} events, one every ${String(EVENT_MS)} ms, one client, ${String(STREAMS)} times: time to the first text and to the end. A guarded stream
holds back 256 characters, which the LLM must have said first.
`

const TOKENS = `32 of these streams side by side:
`

const MEMORY = `Memory (RSS) of the server behind the filter with ${String(OPEN_STREAMS)} streams open at once, each in the middle of its reply, measured once: as the
system counts it, with what has not been collected yet, for both alike. Gatehouse runs with the young generation of its image (16 MB).
`

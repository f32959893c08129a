// Rows → the Markdown of docs/performance.md.

import { cpus } from 'node:os'
import type { ChangeRow } from './change-row.js'
import type { Row } from './measure.js'

const micro = (value: number | undefined): string =>
  value === undefined ? '–' : `${value.toFixed(0)} µs`
const milli = (value: number): string => `${value.toFixed(2)} ms`

export interface Measurements {
  readonly rows: readonly Row[]
  readonly noFilter: Row
  readonly noop: Row
  readonly startupMs: number
  readonly changes: readonly ChangeRow[]
}

export function report({ rows, noFilter, noop, startupMs, changes }: Measurements): string {
  const cells = rows.map((row) => [
    row.name,
    micro(row.envoyCpu),
    micro(row.serverCpu),
    added(row, noFilter),
    ratio(row, noop),
    `${milli(row.one.p50)} / ${milli(row.one.p99)}`,
    `${milli(row.saturated.p50)} / ${milli(row.saturated.p99)}`,
    row.saturated.requestsPerSecond.toFixed(0),
  ])
  const head = [
    'variant',
    'Envoy CPU',
    'server CPU',
    'CPU added',
    'server, to no-op',
    'p50 / p99, 1 connection',
    'p50 / p99, 32 connections',
    'requests/s',
  ]
  return `${PREFACE}
${table(head, cells)}

From the start of the process to ready, with one route and one policy: ${startupMs.toFixed(0)} ms.

${CHANGES}
${changesTable(changes)}

Measured with Node ${process.versions.node} on ${cpus()[0]?.model ?? 'an unknown CPU'} (${String(cpus().length)} cores), which Envoy, the servers and
the load share: read the ratios, not the rates.
`
}

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map((line) => `| ${line.join(' | ')} |`).join('\n')

const changesTable = (changes: readonly ChangeRow[]): string =>
  table(
    ['routes and policies', 'all of them', 'one route changed', 'one policy changed', 'memory'],
    changes.map(({ count, all, route, policy, memory }) => [
      count.toLocaleString('en'),
      ...[all, route, policy].map((value) => `${value.toFixed(1)} ms`),
      `${memory.toFixed(0)} MB`,
    ]),
  )

const total = (row: Row): number => row.envoyCpu + (row.serverCpu ?? 0)

const added = (row: Row, noFilter: Row): string =>
  row === noFilter ? '–' : micro(total(row) - total(noFilter))

const ratio = (row: Row, noop: Row): string =>
  row.serverCpu === undefined || noop.serverCpu === undefined
    ? '–'
    : (row.serverCpu / noop.serverCpu).toFixed(2)

const PREFACE = `# Performance

\`npm run bench\` wrote this page: one run, on loopback, of one Envoy with a listener per variant. Every request carries an
RS256 token and is answered by Envoy itself, so that what differs is the check. CPU is time per request at 32 connections,
in Envoy and in the server that it asks; "CPU added" is both, less what Envoy needs without a filter. The no-op server is
grpc-js answering a constant without reading the request: what any ext_authz server on this runtime costs at least.

- **jwt_authn + rbac**: Envoy's own filters, the same rule, the same keys; it verifies the signature at every request.
- **remembered token**: Gatehouse has verified this token before.
- **new token**: every request brings a token that Gatehouse has never seen.
`

const CHANGES = `## One change among many

N HTTPRoutes on one listener, each with a backend and a policy of its own: CPU time from the resources to the tables and the
encoded xDS, at the start and after one of them changed (median), and what the process then holds in memory.
`

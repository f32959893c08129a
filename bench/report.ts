// Formats measured rows as the Markdown of docs/performance.md.

import type { ChangeRow } from './change-row.js'
import { type CheckRows, GO_NOOP, GRPC_JS_NOOP } from './checks.js'
import { goPrograms } from './go-programs.js'
import type { GuardRows } from './guards.js'
import { reportGoals } from './report-goals.js'
import { reportGuards } from './report-guards.js'
import { loadCells, loadHead, machine, megabytes, rowNamed, table } from './table.js'

export interface Measurements {
  readonly checks: CheckRows
  readonly guards: GuardRows
  readonly changes: readonly ChangeRow[]
  readonly rounds: number
}

export function report({ checks, guards, changes, rounds }: Measurements): string {
  const { rows, startupMs } = checks
  const yardsticks = rows.filter(({ name }) => name === GO_NOOP || name === GRPC_JS_NOOP)
  const plain = rowNamed(rows, 'no filter')
  return `${preface(rounds)}
${table(
  loadHead(yardsticks),
  rows.map((row) => loadCells(row, plain, yardsticks)),
)}

From the start of the process to ready, with one route and one policy: ${startupMs.toFixed(0)} ms.

${reportGuards(guards)}
${reportGoals(checks, guards)}
${CHANGES}
${changesTable(changes)}
`
}

const changesTable = (changes: readonly ChangeRow[]): string =>
  table(
    ['routes and policies', 'all of them', 'one route changed', 'one policy changed', 'memory'],
    changes.map(({ count, all, route, policy, memory }) => [
      count.toLocaleString('en'),
      ...[all, route, policy].map((value) => `${value.toFixed(1)} ms`),
      megabytes(memory),
    ]),
  )

const preface = (rounds: number): string => `# Performance

What a request costs, what a change costs, and how long a change takes until Envoy works by it, from files and from a
cluster. Each section is written by a benchmark that anyone can run; Envoy, the servers and the load share the machine's
cores: read the ratios, not the rates.

## Checks

\`npm run bench\` wrote this section and the next three: one run, on loopback, of one Envoy with a listener per variant. Every
request carries an RS256 token and is answered by Envoy itself, so that what differs is the check. All variants take turns,
${String(rounds)} times; numbers are the middle of these rounds, with the lowest and the highest in brackets. CPU is time per request at
32 connections, in Envoy and in the server that it asks; "CPU added" is both, less what Envoy needs without a filter.
${machine()}${withoutGo()}

- **jwt_authn + rbac**: Envoy's own filters, the same rule, the same keys; it verifies the signature at every request.
- **Go no-op, grpc-js no-op**: servers of grpc-go (with the generated types, as every one has) and of grpc-js (which reads nothing of
  the request) that let everything in: what any ext_authz server on these costs at least.
- **OPA-Envoy**: the same rule in Rego, the keys beside it; without decision logs, as by default. It verifies the signature at every request.
- **remembered token**: Gatehouse has verified this token before. **OTLP**: it sends telemetry to a collector on loopback; otherwise it
  computes none.
- **40,000 remembered tokens**: as many as Gatehouse remembers by default, each in its turn.
- **new token**: every request brings a token that Gatehouse has never seen.
`

const withoutGo = (): string =>
  goPrograms.noop === undefined
    ? ' There was no Go on this machine: the servers written in it are left out.'
    : ''

const CHANGES = `## The CPU of a change

N HTTPRoutes on one listener, each with a backend and a policy of its own: CPU time from the resources to the tables and the
encoded xDS, at the start and after one of them changed (median), and what the process then holds in memory.
`

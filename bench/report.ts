// Rows → the Markdown of docs/performance.md.

import type { ChangeRow } from './change-row.js'
import type { CheckRows } from './checks.js'
import type { GuardRows } from './guards.js'
import { reportGuards } from './report-guards.js'
import { LOAD_HEAD, loadCells, machine, megabytes, table } from './table.js'

export interface Measurements {
  readonly checks: CheckRows
  readonly guards: GuardRows
  readonly changes: readonly ChangeRow[]
}

export function report({ checks, guards, changes }: Measurements): string {
  const { rows, startupMs } = checks
  const [noFilter, , noop] = rows
  if (noFilter === undefined || noop === undefined) throw new Error('a row is missing')
  return `${PREFACE}
${table(
  LOAD_HEAD,
  rows.map((row) => loadCells(row, noFilter, noop)),
)}

From the start of the process to ready, with one route and one policy: ${startupMs.toFixed(0)} ms.

${reportGuards(guards)}
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

const PREFACE = `# Performance

What a request costs, what a change costs, and how long a change takes until Envoy works by it, from files and from a
cluster. Each section is written by a benchmark that anyone can run; Envoy, the servers and the load share the machine's
cores: read the ratios, not the rates.

## Checks

\`npm run bench\` wrote this section and the next two: one run, on loopback, of one Envoy with a listener per variant. Every
request carries an RS256 token and is answered by Envoy itself, so that what differs is the check. CPU is time per request at
32 connections, in Envoy and in the server that it asks; "CPU added" is both, less what Envoy needs without a filter. The
no-op server is grpc-js answering a constant without reading the request: what any ext_authz server on this runtime costs at
least. ${machine()}

- **jwt_authn + rbac**: Envoy's own filters, the same rule, the same keys; it verifies the signature at every request.
- **remembered token**: Gatehouse has verified this token before.
- **new token**: every request brings a token that Gatehouse has never seen.
`

const CHANGES = `## The CPU of a change

N HTTPRoutes on one listener, each with a backend and a policy of its own: CPU time from the resources to the tables and the
encoded xDS, at the start and after one of them changed (median), and what the process then holds in memory.
`

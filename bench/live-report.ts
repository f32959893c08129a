// Formats measurements of changes to a running Gatehouse as sections of docs/performance.md.

import { CHANGES, type Cost, type LiveRow } from './live-changes.js'
import { machine, megabytes, table } from './table.js'

export const COUNTS = [10, 1_000, 5_000, 10_000]

export interface FilesRows {
  /** Documents per file, except for `ownFiles`. */
  readonly perFile: number
  readonly ownHosts: readonly LiveRow[]
  readonly oneHost: readonly LiveRow[]
  readonly ownFiles: readonly LiveRow[]
}

export const reportFiles = ({
  perFile,
  ownHosts,
  oneHost,
  ownFiles,
}: FilesRows): string => `## From a file to Envoy

\`npm run bench -- files\` wrote this section, with \`gatehouse serve --resources\` on a folder of YAML and a real Envoy that gets
its configuration by incremental ADS. Each HTTPRoute has a backend and a policy of its own. ${TERMS}

Each route with a host of its own, ${String(perFile)} documents in a file:

${liveTable(ownHosts)}

All routes on one host, which Envoy gets as one resource, ${String(perFile)} documents in a file:

${liveTable(oneHost)}

Each route with a host of its own, in a file of its own with its backend and its policy, all in one folder:

${liveTable(ownFiles)}

A pause of 50 ms, in which more changes are waited for, is in every time. ${machine()}
`

export const reportCluster = (rows: readonly LiveRow[]): string => `## From an API server to Envoy

\`npm run bench -- kubernetes\` wrote this section: such routes, each with a host of its own, backends and policies in a real API
server for each row, one replica of \`gatehouse serve --kubernetes\`, and the same Envoy. The call to the API server, the watch, and a
pause of 30 ms in which more changes are waited for are in every time; the status that Gatehouse writes is in its CPU.

${liveTable(rows)}

${machine()}
`

const TERMS = `One of them is changed
at a time, in turns with those of the other rows: a route gets another path, a policy another rule. Times are from the write
(medians of ${String(CHANGES)}): until the response with the change is on the wire, until Envoy's ACK, and, for a policy, of which
Envoy need not hear, until Gatehouse decides by it. "Sent" is what went to Envoy for it; CPU is Gatehouse's for one change, and the
mean in brackets, in which a full collection of V8 counts wherever one falls among the changes; memory (RSS) is its own at the end.`

const HEADS = [
  'routes and policies',
  'start to ready',
  'a route: on the wire',
  'ACK',
  'sent',
  'CPU',
  'a policy: in force',
  'sent',
  'CPU',
  'memory',
]

const liveTable = (rows: readonly LiveRow[]): string => `${figures(rows)}\n\n${goals(rows)}`

/** The numbers of routes whose costs are compared. */
const [FEW, MANY] = [1_000, 10_000]
const GOALS = { ready: 6_000, wire: 100, growth: 1.5 }

/** Compares the largest number of routes with what is demanded of it. */
function goals(rows: readonly LiveRow[]): string {
  const few = rows.find(({ count }) => count === FEW)
  const many = rows.find(({ count }) => count === MANY)
  if (few === undefined || many === undefined) return ''
  const against = (measured: string, most: string, holds: boolean): string =>
    `${measured} (must: ${most}${holds ? '' : ', missed'})`
  const growth = (of: 'route' | 'policy'): string => {
    const times = many[of].cpu / few[of].cpu
    return against(`${times.toFixed(2)} times`, String(GOALS.growth), times <= GOALS.growth)
  }
  const { ready, route } = many
  return `With ${MANY.toLocaleString('en')} routes: ready after ${against(ms(ready), ms(GOALS.ready), ready < GOALS.ready)}, a route on the
wire after ${against(ms(route.wire), ms(GOALS.wire), route.wire < GOALS.wire)}. The CPU of a change, to that with ${FEW.toLocaleString('en')}:
of a route ${growth('route')}, of a policy ${growth('policy')}.`
}

const figures = (rows: readonly LiveRow[]): string =>
  table(
    HEADS,
    rows.map(({ count, ready, route, policy, memory }) => [
      count.toLocaleString('en'),
      ms(ready),
      ms(route.wire),
      ms(route.accepted),
      bytes(route.bytes),
      cpu(route),
      ms(policy.published),
      bytes(policy.bytes),
      cpu(policy),
      megabytes(memory),
    ]),
  )

/** The median, and the mean in brackets. */
const cpu = (cost: Cost): string => `${ms(cost.cpu)} (${cost.meanCpu.toFixed(0)})`

const ms = (value: number): string => `${value.toFixed(0)} ms`

const bytes = (value: number): string =>
  value < 10_000 ? `${String(value)} B` : `${(value / 1_000).toFixed(0)} kB`

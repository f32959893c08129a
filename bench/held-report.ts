// Formats what Gatehouse holds under load and afterwards as a section of docs/performance.md.

import type { Answers } from './held-loads.js'
import { machine, megabytes, table } from './table.js'

/** Measurements of one load, in megabytes. */
export interface HeldRow {
  readonly name: string
  readonly answers: Answers
  /** RSS before the load, its peak under load, and 30 s after it. */
  readonly idle: number
  readonly most: number
  readonly after: number
  /** The amount counted as held: its peak, and 30 s after the load. */
  readonly held: number
  readonly left: number
}

export const reportHeld = (rows: readonly HeldRow[]): string => `${PREFACE}
${table(
  [
    'load',
    'answers',
    'held at most',
    'held afterwards',
    'idle',
    'RSS at most',
    'RSS afterwards',
    'to idle',
  ],
  rows.map(({ name, answers, held, left, idle, most, after }) => [
    name,
    Object.entries(answers)
      .map(([kind, count]) => `${String(count)} ${kind}`)
      .join(', '),
    megabytes(held),
    megabytes(left),
    megabytes(idle),
    megabytes(most),
    megabytes(after),
    (after / idle).toFixed(2),
  ]),
)}

${machine()}
`

const PREFACE = `## Memory under load

\`npm run bench -- memory\` wrote this section, with \`gatehouse run\` and \`--held-bytes\` as it is by default. 200 clients send 9 of 10 MiB
and then leave; 1,000 clients send prompts of 1 MiB at once, about which a webhook is asked that takes a second for each, over 100
connections, while other clients ask for replies about which it is asked too. "Held" is what counts against \`--held-bytes\`; "afterwards"
is 30 s after the load. \`MALLOC_ARENA_MAX=1\`, \`MALLOC_MMAP_THRESHOLD_=65536\` and \`MALLOC_TRIM_THRESHOLD_=65536\` were set, as in our image:
without them the C library keeps what Node has given back (2.7 to 3.6 times idle). A request
for whose body there is no room is 503 with Retry-After (in seconds). What a load has left behind in the heap, V8 collects
when it needs memory, and a part of it in an idle process.
`

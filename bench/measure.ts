// Rows of a table: requests under load, with the CPU time that Envoy and the server behind it spent on them.

import { cpuTime } from './cpu-time.js'
import { load, type LoadResult } from './load.js'

/** A listener of an Envoy. */
export interface Target {
  readonly port: number
  readonly envoyPid: number
  /** undefined: there is no server behind this filter. */
  readonly serverPid: number | undefined
}

export interface Scenario {
  readonly name: string
  readonly target: Target
  /** As it goes over the wire; undefined: there are no more. */
  readonly nextRequest: () => string | undefined
}

export interface Row extends Saturated {
  readonly name: string
  readonly one: LoadResult
}

interface Saturated {
  /** Microseconds of CPU per request. */
  readonly envoyCpu: number
  /** undefined: there is no server behind this filter. */
  readonly serverCpu: number | undefined
  readonly saturated: LoadResult
}

const SATURATION = 32
const WARM_UP_MS = 1_500
const ONE_MS = 3_000
const ROUNDS = 4
const ROUND_MS = 1_500

/** One connection first, then many: in rounds, as what else the machine does must hit every scenario alike. */
export async function measure(
  scenarios: readonly Scenario[],
  say: (text: string) => void,
): Promise<readonly Row[]> {
  const measured: { scenario: Scenario; one: LoadResult; rounds: Saturated[] }[] = []
  for (const scenario of scenarios) {
    say(scenario.name)
    await run(scenario, SATURATION, WARM_UP_MS)
    measured.push({ scenario, one: await run(scenario, 1, ONE_MS), rounds: [] })
  }
  say('all of them in turn')
  for (let round = 0; round < ROUNDS; round++)
    for (const { scenario, rounds } of round % 2 === 0 ? measured : measured.toReversed())
      rounds.push(await saturate(scenario))
  return measured.map(({ scenario: { name }, one, rounds }) => ({ name, one, ...middle(rounds) }))
}

const run = (
  { target: { port }, nextRequest }: Scenario,
  connections: number,
  milliseconds: number,
): Promise<LoadResult> => load({ port, connections, milliseconds, nextRequest })

async function saturate(scenario: Scenario): Promise<Saturated> {
  const { envoyPid, serverPid = envoyPid } = scenario.target
  const before = [cpuTime(envoyPid), cpuTime(serverPid)] as const
  const saturated = await run(scenario, SATURATION, ROUND_MS)
  const after = [cpuTime(envoyPid), cpuTime(serverPid)] as const
  const perRequest = (index: 0 | 1): number => (after[index] - before[index]) / saturated.requests
  return {
    envoyCpu: perRequest(0),
    serverCpu: serverPid === envoyPid ? undefined : perRequest(1),
    saturated,
  }
}

/** The round with the median CPU, of those that did not run out of requests. */
function middle(rounds: readonly Saturated[]): Saturated {
  const cpu = ({ envoyCpu, serverCpu = 0 }: Saturated): number => envoyCpu + serverCpu
  const whole = rounds.filter(({ saturated }) => saturated.requests > SATURATION)
  const row = whole.toSorted((a, b) => cpu(a) - cpu(b))[Math.floor(whole.length / 2)]
  if (row === undefined) throw new Error('no requests')
  return row
}

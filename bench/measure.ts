// Measures requests under load, with the CPU time that Envoy and the server behind its filter spend on them. The
// scenarios take turns in each round.

import { cpuTime } from './cpu-time.js'
import { load, type LoadResult } from './load.js'
import { type Spread, spreadOf } from './spread.js'

/** An Envoy listener to send load to. */
export interface Target {
  readonly port: number
  readonly envoyPid: number
  /** undefined if the filter asks no server. */
  readonly serverPid: number | undefined
}

/** A load on a scenario: before all rounds, or of one connection or of many in a round. */
export type LoadName = 'warm-up' | 'one' | 'many'

export interface Scenario {
  readonly name: string
  readonly target: Target
  /** Called for each load. Returns a source of raw requests, which returns undefined when no more are left. */
  readonly requests: (load: LoadName) => () => string | undefined
  /** A port that gets each request of a single connection as well, just before. Its time does not count. */
  readonly before?: number
}

/**
 * One value per round: latencies in milliseconds and CPU microseconds per request. Values of the same round are
 * comparable between rows.
 */
export interface Row {
  readonly name: string
  readonly one: { readonly p50: readonly number[]; readonly p99: readonly number[] }
  readonly many: { readonly p50: readonly number[]; readonly p99: readonly number[] }
  readonly envoyCpu: readonly number[]
  /** undefined if the filter asks no server. */
  readonly serverCpu: readonly number[] | undefined
  readonly requestsPerSecond: Spread
}

export const MANY = 32
/** V8 compiles the last of what a request runs after some 20,000 of them. */
const WARM_UP_MS = 5_000
const ONE_MS = 1_000
const MANY_MS = 1_500

interface Round {
  readonly one: LoadResult
  readonly many: LoadResult
  readonly envoyCpu: number
  readonly serverCpu: number | undefined
}

/** @param rounds how often each scenario is measured. */
export async function measure(
  scenarios: readonly Scenario[],
  rounds: number,
  say: (text: string) => void,
): Promise<readonly Row[]> {
  const measured = scenarios.map((scenario) => ({ scenario, results: [] as Round[] }))
  for (const { scenario } of measured) {
    say(`${scenario.name}: warm-up`)
    await run(scenario, 'warm-up', MANY, WARM_UP_MS)
  }
  for (let round = 0; round < rounds; round++) {
    say(`round ${String(round + 1)} of ${String(rounds)}`)
    const turns = round % 2 === 0 ? measured : measured.toReversed()
    for (const { scenario, results } of turns) results.push(await oneRound(scenario))
  }
  return measured.map(({ scenario, results }) => rowOf(scenario.name, results))
}

const run = (
  { target: { port }, requests, before }: Scenario,
  name: LoadName,
  connections: number,
  milliseconds: number,
): Promise<LoadResult> =>
  load({
    port,
    connections,
    milliseconds,
    nextRequest: requests(name),
    before: connections === 1 ? before : undefined,
  })

async function oneRound(scenario: Scenario): Promise<Round> {
  const one = await run(scenario, 'one', 1, ONE_MS)
  const { envoyPid, serverPid = envoyPid } = scenario.target
  const before = [cpuTime(envoyPid), cpuTime(serverPid)] as const
  const many = await run(scenario, 'many', MANY, MANY_MS)
  const after = [cpuTime(envoyPid), cpuTime(serverPid)] as const
  const perRequest = (index: 0 | 1): number => (after[index] - before[index]) / many.requests
  const serverCpu = serverPid === envoyPid ? undefined : perRequest(1)
  return { one, many, envoyCpu: perRequest(0), serverCpu }
}

function rowOf(name: string, rounds: readonly Round[]): Row {
  const latency = (of: 'one' | 'many'): Row['one'] => ({
    p50: rounds.map((round) => round[of].p50),
    p99: rounds.map((round) => round[of].p99),
  })
  const server = rounds.flatMap(({ serverCpu }) => serverCpu ?? [])
  return {
    name,
    one: latency('one'),
    many: latency('many'),
    envoyCpu: rounds.map(({ envoyCpu }) => envoyCpu),
    serverCpu: server.length === 0 ? undefined : server,
    requestsPerSecond: spreadOf(rounds.map(({ many }) => many.requestsPerSecond)),
  }
}

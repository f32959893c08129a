// One row of the table: a variant under load, with the CPU time that Envoy and the server behind it spent on it.

import { cpuTime } from './cpu-time.js'
import type { Variant } from './envoy-config.js'
import { load, type LoadOptions, type LoadResult } from './load.js'
import type { Parties } from './parties.js'

export interface Row {
  readonly name: string
  /** Microseconds of CPU per request, at saturation. */
  readonly envoyCpu: number
  /** undefined: there is no server behind this filter. */
  readonly serverCpu: number | undefined
  readonly one: LoadResult
  readonly saturated: LoadResult
}

export interface Scenario {
  readonly name: string
  readonly variant: Variant
  /** Tokens for the warm-up and both runs. */
  readonly nextToken: () => string | undefined
}

const SATURATION = 32
const WARM_UP_MS = 1_500
const RUN_MS = 5_000

export async function measure(parties: Parties, scenario: Scenario): Promise<Row> {
  const { name, variant, nextToken } = scenario
  const run = (connections: number, milliseconds: number): Promise<LoadResult> =>
    load({
      port: parties.ports[variant],
      connections,
      milliseconds,
      nextToken,
    } satisfies LoadOptions)
  await run(SATURATION, WARM_UP_MS)
  const one = await run(1, RUN_MS)
  const pids = [parties.envoyPid, parties.serverPid(variant)] as const
  const before = pids.map((pid) => (pid === undefined ? 0 : cpuTime(pid)))
  const saturated = await run(SATURATION, RUN_MS)
  const [envoyCpu = 0, serverCpu = 0] = pids.map(
    (pid, index) =>
      (pid === undefined ? 0 : cpuTime(pid) - (before[index] ?? 0)) / saturated.requests,
  )
  return {
    name,
    envoyCpu,
    serverCpu: pids[1] === undefined ? undefined : serverCpu,
    one,
    saturated,
  }
}

// Changes the resources of several Gatehouses that run with an Envoy each, and measures how long each change takes to be
// published, to reach the wire and to be ACKed, and how much CPU it costs. They take turns, as a machine is now faster and
// now slower.

import type { EventEmitter } from 'node:events'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { cpuTime, threadsCpuTime } from './cpu-time.js'
import { type LiveEnvoy, startLiveEnvoy } from './live-envoy.js'
import { type HostOf, pathOf, policyOf, routeOf } from './many-objects.js'
import { median } from './median.js'
import { residentMemory } from './memory.js'
import { untilHolds } from './processes.js'
import { publicationsIn } from './publications.js'

/** Measured changes of each kind. */
export const CHANGES = 30
/** Unmeasured changes of each kind before them. */
const WARM_UP = 2
const PATIENCE_MS = 60_000
/** Of a processor's time: what an idle replica uses for its watches and its Lease. */
const IDLE_SHARE = 0.01

/** A Gatehouse with `count` routes and policies, and the way to change them. */
export interface Served {
  readonly count: number
  /** Milliseconds from the start of the process until /readyz answers 200. */
  readonly ready: number
  readonly pid: number
  readonly log: Readable
  /** The address, as in --grpc. */
  readonly grpc: string
  /** Port of the Gateway's listener. */
  readonly port: number
  /** Returns the host of a route. */
  readonly host: HostOf
  /** Writes a changed object where Gatehouse reads it. */
  readonly put: (object: object) => Promise<void>
  /** A process that has hardly used CPU for this many milliseconds counts as idle. */
  readonly idleMs: number
  /** Stops it, and what it needs. */
  readonly close: () => Promise<void>
}

export interface LiveRow extends Pick<Served, 'count' | 'ready'> {
  readonly route: Cost
  readonly policy: Cost
  /** Resident memory (RSS) of Gatehouse after all changes, in megabytes. */
  readonly memory: number
}

/** Medians, in milliseconds from the write. */
export interface Cost extends Times {
  /** Mean CPU milliseconds of Gatehouse for a change, in which a full collection counts if one falls among the changes. */
  readonly meanCpu: number
}

interface Times {
  /** Until Gatehouse has published the change, so that its tables use it. */
  readonly published: number
  /** Until the relay forwarded the first response to Envoy, and until Envoy ACKed the last; NaN without a response. */
  readonly wire: number
  readonly accepted: number
  /** Total size of the responses. */
  readonly bytes: number
  /** CPU milliseconds of Gatehouse. */
  readonly cpu: number
}

/**
 * Serves each number of routes and policies, one after the other, and then changes them in turns.
 * @param what is printed behind the number.
 */
export async function measureLiveChanges(
  counts: readonly number[],
  what: string,
  serve: (count: number) => Promise<Served>,
): Promise<readonly LiveRow[]> {
  const all: Served[] = []
  try {
    for (const count of counts) {
      process.stderr.write(`bench: ${String(count)} ${what}\n`)
      all.push(await serve(count))
    }
    process.stderr.write('bench: changes, in turns\n')
    return await changeInTurns(all)
  } finally {
    for (const { close } of all) await close()
  }
}

async function changeInTurns(all: readonly Served[]): Promise<readonly LiveRow[]> {
  const watched: Watched[] = []
  try {
    for (const served of all) watched.push(await watch(served))
    // Gatehouse may still be writing statuses that it found missing, and the API server may be slow.
    for (const served of all) await untilIdle({ ...served, idleMs: 5 * served.idleMs })
    await measureAll(watched, 'route', ({ host, versions }, index, version) => {
      versions.set(index, version)
      const path = pathOf(index, version)
      return { object: routeOf(index, host, version), onWire: true, index, path, status: 200 }
    })
    await measureAll(watched, 'policy', ({ versions }, index, version) => {
      const path = pathOf(index, versions.get(index))
      const object = policyOf(index, `NONE${version}`)
      return { object, onWire: false, index, path, status: 403 }
    })
    return watched.map(({ count, ready, pid, times }) => ({
      count,
      ready,
      memory: residentMemory(pid),
      route: costOf(times.route),
      policy: costOf(times.policy),
    }))
  } finally {
    for (const { envoy } of watched) await envoy.stop()
  }
}

/** Resolves when an Envoy answers requests of the last route. */
async function watch(served: Served): Promise<Watched> {
  const envoy = await startLiveEnvoy(served.grpc)
  const last = served.count - 1
  try {
    await untilAnswered(served, { index: last, path: pathOf(last), status: 200 })
    const publications = publicationsIn(served.log)
    return { ...served, envoy, publications, versions: new Map(), times: { route: [], policy: [] } }
  } catch (error) {
    await envoy.stop()
    throw error
  }
}

interface Watched extends Served {
  readonly envoy: LiveEnvoy
  readonly publications: EventEmitter
  /** Versions of the routes that were changed, by their index. */
  readonly versions: Map<number, string>
  /** Of each measured change. */
  readonly times: { readonly route: Times[]; readonly policy: Times[] }
}

/** The expected status of a request to a path of a route. */
interface Answered {
  readonly index: number
  readonly path: string
  readonly status: number
}

/** The object to write, whether the change reaches Envoy, and the expected answer afterwards. */
interface Change extends Answered {
  readonly object: object
  readonly onWire: boolean
}

/** Changes each in its turn. */
async function measureAll(
  all: readonly Watched[],
  kind: keyof Watched['times'],
  change: (watched: Watched, index: number, version: string) => Change,
): Promise<void> {
  for (let step = 0; step < WARM_UP + CHANGES; step += 1)
    for (const watched of all) {
      const one = change(watched, step % watched.count, `-${String(step)}`)
      const times = await measureOne(watched, one)
      if (step >= WARM_UP) watched.times[kind].push(times)
    }
}

function costOf(measured: readonly Times[]): Cost {
  const middle = (part: keyof Times): number => median(measured.map((one) => one[part]))
  return {
    published: middle('published'),
    wire: middle('wire'),
    accepted: middle('accepted'),
    bytes: middle('bytes'),
    cpu: middle('cpu'),
    meanCpu: measured.reduce((sum, { cpu }) => sum + cpu, 0) / measured.length,
  }
}

async function measureOne(watched: Watched, change: Change): Promise<Times> {
  const { envoy, publications, put, pid } = watched
  const { relay } = envoy
  const passed = relay.exchanges.length
  const signal = AbortSignal.timeout(PATIENCE_MS)
  const publication = once(publications, 'published', { signal })
  const cpuBefore = threadsCpuTime(pid)
  const began = performance.now()
  await put(change.object)
  const [published] = (await publication) as [number]
  if (change.onWire) await relay.accepted(passed, signal)
  await untilAnswered(watched, change)
  await untilIdle(watched)
  const exchanges = relay.exchanges.slice(passed)
  return {
    published: published - began,
    wire: (exchanges[0]?.passedAt ?? NaN) - began,
    accepted: (exchanges.at(-1)?.acceptedAt ?? NaN) - began,
    bytes: exchanges.reduce((sum, { bytes }) => sum + bytes, 0),
    cpu: (threadsCpuTime(pid) - cpuBefore) / 1_000,
  }
}

async function untilIdle({ pid, idleMs }: Served): Promise<void> {
  for (let used = Infinity; used > idleMs * IDLE_SHARE;) {
    const before = cpuTime(pid)
    await new Promise((resolve) => setTimeout(resolve, idleMs))
    used = (cpuTime(pid) - before) / 1_000
  }
}

async function untilAnswered(served: Served, expected: Answered): Promise<void> {
  const { index, path, status } = expected
  const url = `http://${served.host(index)}:${String(served.port)}${path}`
  const condition = async (): Promise<boolean> => {
    const answered = await statusOf(served, expected)
    if (answered !== status) throw new Error(`it answers ${String(answered)}`)
    return true
  }
  await untilHolds(condition, PATIENCE_MS, `${url} answers ${String(status)}`)
}

async function statusOf(served: Served, { index, path }: Answered): Promise<number | undefined> {
  const asked = get({
    host: '127.0.0.1',
    port: served.port,
    path,
    headers: { host: served.host(index) },
  })
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  answer.resume()
  return answer.statusCode
}

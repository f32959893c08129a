// Changes to a Gatehouse that runs with an Envoy behind it: how long each takes to be in force, to be on the wire and
// to be accepted by Envoy, and what it costs.

import type { EventEmitter } from 'node:events'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import type { AdsRelay } from './ads-relay.js'
import { cpuTime } from './cpu-time.js'
import { startLiveEnvoy } from './live-envoy.js'
import { type HostOf, pathOf, policyOf, routeOf } from './many-objects.js'
import { median } from './median.js'
import { residentMemory } from './memory.js'
import { untilHolds } from './processes.js'
import { publicationsIn } from './publications.js'

/** Of each kind. */
export const CHANGES = 10
/** Before them. */
export const WARM_UP = 2
const PATIENCE_MS = 60_000

/** A Gatehouse with so many routes and policies, and the way to change them. */
export interface Served {
  readonly count: number
  readonly pid: number
  readonly log: Readable
  /** As in --grpc. */
  readonly grpc: string
  /** Of the Gateway's listener. */
  readonly port: number
  /** Of each of the routes. */
  readonly host: HostOf
  /** Writes a changed object to where Gatehouse reads it. */
  readonly put: (object: object) => Promise<void>
  /** A process that has used no CPU for so long has nothing left to do, in milliseconds. */
  readonly idleMs: number
}

export interface LiveChanges {
  readonly route: Cost
  readonly policy: Cost
  /** Megabytes (RSS) that Gatehouse holds after all of them. */
  readonly memory: number
}

/** Medians; milliseconds from the write. */
export interface Cost extends Times {
  /** Of Gatehouse; the mean. */
  readonly cpu: number
}

interface Times {
  /** Until Gatehouse has published it: its tables decide by it. */
  readonly published: number
  /** Until the first response passed on its way to Envoy, and until Envoy had accepted the last; NaN: there was none. */
  readonly wire: number
  readonly accepted: number
  /** Of the responses. */
  readonly bytes: number
}

export async function measureLiveChanges(served: Served): Promise<LiveChanges> {
  const envoy = await startLiveEnvoy(served.grpc)
  try {
    const watched = { ...served, ...envoy, publications: publicationsIn(served.log) }
    const last = served.count - 1
    const path = pathOf(last)
    await untilHolds(() => hasStatus(watched, { index: last, path, status: 200 }), PATIENCE_MS)
    // What was found unwritten is written first, and whoever it is written to may be slow.
    await untilIdle({ ...served, idleMs: 5 * served.idleMs })
    const versions = new Map<number, string>()
    const route = await measureCost(watched, (index, version) => {
      versions.set(index, version)
      const path = pathOf(index, version)
      const object = routeOf(index, served.host, version)
      return { object, onWire: true, index, path, status: 200 }
    })
    const policy = await measureCost(watched, (index, version) => {
      const path = pathOf(index, versions.get(index))
      const object = policyOf(index, `NONE${version}`)
      return { object, onWire: false, index, path, status: 403 }
    })
    return { route, policy, memory: residentMemory(served.pid) }
  } finally {
    await envoy.stop()
  }
}

interface Watched extends Served {
  readonly relay: AdsRelay
  readonly publications: EventEmitter
}

/** How a request to a path of a route is answered. */
interface Answered {
  readonly index: number
  readonly path: string
  readonly status: number
}

/** What is written, whether Envoy must be told, and how it answers then. */
interface Change extends Answered {
  readonly object: object
  readonly onWire: boolean
}

async function measureCost(
  watched: Watched,
  change: (index: number, version: string) => Change,
): Promise<Cost> {
  const { pid, count } = watched
  const all: Times[] = []
  let before = 0
  for (let step = 0; step < WARM_UP + CHANGES; step += 1) {
    if (step === WARM_UP) before = cpuTime(pid)
    all.push(await measureOne(watched, change(step % count, `-${String(step)}`)))
  }
  const cpu = (cpuTime(pid) - before) / 1_000 / CHANGES
  const middle = (part: keyof Times): number => median(all.slice(WARM_UP).map((one) => one[part]))
  return {
    ...{ published: middle('published'), wire: middle('wire'), accepted: middle('accepted') },
    ...{ bytes: middle('bytes'), cpu },
  }
}

async function measureOne(watched: Watched, change: Change): Promise<Times> {
  const { relay, publications, put } = watched
  const passed = relay.exchanges.length
  const signal = AbortSignal.timeout(PATIENCE_MS)
  const publication = once(publications, 'published', { signal })
  const began = performance.now()
  await put(change.object)
  const [published] = (await publication) as [number]
  if (change.onWire) await relay.accepted(passed, signal)
  await untilHolds(() => hasStatus(watched, change), PATIENCE_MS)
  await untilIdle(watched)
  const exchanges = relay.exchanges.slice(passed)
  return {
    published: published - began,
    wire: (exchanges[0]?.passedAt ?? NaN) - began,
    accepted: (exchanges.at(-1)?.acceptedAt ?? NaN) - began,
    bytes: exchanges.reduce((sum, { bytes }) => sum + bytes, 0),
  }
}

async function untilIdle({ pid, idleMs }: Served): Promise<void> {
  for (let before = -1; before !== cpuTime(pid);) {
    before = cpuTime(pid)
    await new Promise((resolve) => setTimeout(resolve, idleMs))
  }
}

async function hasStatus(served: Served, { index, path, status }: Answered): Promise<boolean> {
  const asked = get({
    host: '127.0.0.1',
    port: served.port,
    path,
    headers: { host: served.host(index) },
  })
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  answer.resume()
  return answer.statusCode === status
}

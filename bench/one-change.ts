// Measures one change among N routes and policies: the CPU time from the resources to the encoded xDS and the tables,
// and the memory of the process. Prints rows as JSON.

import { buildSnapshot, type Snapshot } from '../src/control/publish/build-snapshot.js'
import { createTranslator } from '../src/control/translate/translator.js'
import type { ChangeRow } from './change-row.js'
import { manyRoutes } from './many-routes.js'
import { median } from './median.js'

const COUNTS = [10, 1_000, 5_000]
/** Number of changes of each kind; the first WARM_UP are not counted. */
const CHANGES = 40
const WARM_UP = 10

const OPTIONS = {
  listenAddress: '127.0.0.1',
  trustedHops: 0,
  systemCaFile: '/etc/ssl/certs/ca-certificates.crt',
  accessLog: false,
}

const TRANSLATOR = {
  apiGroup: 'policy.gatehouse.dev',
  clusterDomain: 'cluster.local',
  metadataIssuer: 'Provider',
} as const

function measureChanges(count: number): ChangeRow {
  const translator = createTranslator(TRANSLATOR)
  const many = manyRoutes(count)
  let snapshot: Snapshot | undefined
  const cost = (): number => {
    const resources = many.resources()
    const before = process.cpuUsage()
    snapshot = buildSnapshot(translator.translate(resources, new Map()).ir, OPTIONS, snapshot)
    const { user, system } = process.cpuUsage(before)
    return (user + system) / 1_000
  }
  const all = cost()
  const after = (change: (index: number, version: string) => void): number =>
    median(
      [...Array(CHANGES).keys()]
        .map((step) => {
          change(step % count, `-${String(step)}`)
          return cost()
        })
        .slice(WARM_UP),
    )
  const route = after((index, version) => many.changeRoute(index, version))
  const policy = after((index, version) => many.changePolicy(index, version))
  return { count, all, route, policy, memory: process.memoryUsage.rss() / 1_048_576 }
}

process.stdout.write(JSON.stringify(COUNTS.map(measureChanges)))

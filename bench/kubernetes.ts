// npm run bench:kubernetes: measures the time from a change in an API server to Envoy's ACK, with N routes and policies
// in a cluster. Writes its section of docs/performance.md.

import { type ApiServer, startApiServer } from '../testing/api-server.js'
import { startReplica } from '../testing/replica.js'
import { startAnsweringServer } from './answering-server.js'
import { CHANGES, measureLiveChanges, WARM_UP } from './live-changes.js'
import { type LiveRow, reportCluster } from './live-report.js'
import { hostOfItsOwn as HOST, objectsOf } from './many-objects.js'
import { gatewayAt, gatewayClass } from './objects.js'
import { freePort } from './processes.js'
import { writeSections } from './sections.js'

/** Fewer than for files, because the API server takes a few milliseconds of CPU for each object. */
const COUNTS = [10, 1_000, 10_000]
const AT_ONCE = 16
const PATIENCE_MS = 120_000
/** Longer than for files, because a replica writes the status of a changed object a moment later. */
const IDLE_MS = 300

const api = await startApiServer()
const backend = await startAnsweringServer()
const port = await freePort()
try {
  await api.apply(gatewayClass, gatewayAt(port))
  const rows: LiveRow[] = []
  for (const count of COUNTS) {
    process.stderr.write(`bench: ${String(count)} routes and policies\n`)
    await applyRoutes(api, rows.at(-1)?.count ?? 0, count)
    rows.push(await measure(api, count))
  }
  await writeSections(reportCluster(rows))
} finally {
  backend.close()
  await api.close()
}

/** Applies the objects of the routes from `first` up to, but not including, `count`. */
async function applyRoutes(server: ApiServer, first: number, count: number): Promise<void> {
  const indexes = [...Array(count).keys()].slice(first)
  const work = async (): Promise<void> => {
    for (let index = indexes.pop(); index !== undefined; index = indexes.pop())
      await server.apply(...objectsOf(index, HOST, backend.port))
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
}

async function measure(server: ApiServer, count: number): Promise<LiveRow> {
  const kubeconfig = await server.kubeconfig()
  const began = performance.now()
  const replica = await startReplica({
    ...{ kubeconfig, patienceMs: PATIENCE_MS },
    // In a cluster, backends may not lead to loopback unless that is allowed.
    flags: ['--allow-address', `127.0.0.1:${String(backend.port)}`],
  })
  const ready = performance.now() - began
  try {
    const { child, grpc } = replica
    const { pid, stderr: log } = child
    if (pid === undefined || log === null) throw new Error('it did not start')
    const put = (object: object): Promise<void> => server.apply(object)
    const changes = await measureLiveChanges({
      ...{ count, pid, log, grpc, port, host: HOST, put, idleMs: IDLE_MS },
    })
    return { count, ready, ...changes }
  } finally {
    await replica.stop()
    await applyRoutes(server, 0, Math.min(WARM_UP + CHANGES, count))
  }
}

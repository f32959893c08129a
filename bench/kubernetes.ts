// npm run bench -- kubernetes: measures the time from a change in an API server to Envoy's ACK, with N routes and policies
// in a cluster of their own each. Writes its section of docs/performance.md.

import { type ApiServer, startApiServer } from '../testing/api-server.js'
import { startReplica } from '../testing/replica.js'
import { startAnsweringServer } from './answering-server.js'
import { measureLiveChanges, type Served } from './live-changes.js'
import { reportCluster } from './live-report.js'
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

const backend = await startAnsweringServer()
try {
  const rows = await measureLiveChanges(COUNTS, 'routes and policies', serve)
  await writeSections(reportCluster(rows))
} finally {
  backend.close()
}

/** Starts a replica for an API server that has so many routes. */
async function serve(count: number): Promise<Served> {
  const api = await startApiServer()
  try {
    const port = await freePort()
    await api.apply(gatewayClass, gatewayAt(port))
    await applyRoutes(api, count)
    const kubeconfig = await api.kubeconfig()
    const began = performance.now()
    const replica = await startReplica({
      kubeconfig,
      patienceMs: PATIENCE_MS,
      // In a cluster, backends may not lead to loopback unless that is allowed.
      flags: ['--allow-address', `127.0.0.1:${String(backend.port)}`],
    })
    const ready = performance.now() - began
    const close = async (): Promise<void> => {
      await replica.stop()
      await api.close()
    }
    const { child, grpc } = replica
    const { pid, stderr: log } = child
    if (pid === undefined || log === null) throw new Error('it did not start')
    const put = (object: object): Promise<void> => api.apply(object)
    return { count, pid, log, grpc, port, host: HOST, put, idleMs: IDLE_MS, ready, close }
  } catch (error) {
    await api.close()
    throw error
  }
}

async function applyRoutes(server: ApiServer, count: number): Promise<void> {
  const indexes = [...Array(count).keys()]
  const work = async (): Promise<void> => {
    for (let index = indexes.pop(); index !== undefined; index = indexes.pop())
      await server.apply(...objectsOf(index, HOST, backend.port))
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
}

// npm run bench -- files: measures the time from a file change to Envoy's ACK, with N routes and policies. Writes its
// section of docs/performance.md.

import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startAnsweringServer } from './answering-server.js'
import { serveFiles } from './gatehouse.js'
import { type LiveRow, measureLiveChanges, type Served } from './live-changes.js'
import { COUNTS, reportFiles } from './live-report.js'
import { type HostOf, hostOfItsOwn, objectsOf, oneHost } from './many-objects.js'
import { gatewayAt } from './objects.js'
import { freePort, stop } from './processes.js'
import { writeSections } from './sections.js'
import { writeFiles } from './written-files.js'

const PER_FILE = 100
/** Documents per route: the route, its backend and its policy. */
const PER_ROUTE = 3
const IDLE_MS = 100

await writeSections(
  reportFiles({
    perFile: PER_FILE,
    ownHosts: await measureAll(PER_FILE, hostOfItsOwn),
    oneHost: await measureAll(PER_FILE, oneHost),
    ownFiles: await measureAll(PER_ROUTE, hostOfItsOwn),
  }),
)

function measureAll(perFile: number, host: HostOf): Promise<readonly LiveRow[]> {
  const what = `routes and policies, ${String(perFile)} a file`
  return measureLiveChanges(COUNTS, what, (count) => serve(count, perFile, host))
}

async function serve(count: number, perFile: number, host: HostOf): Promise<Served> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-bench-'))
  const resources = join(folder, 'resources')
  const grpc = `unix:${join(folder, 'grpc.sock')}`
  const backend = await startAnsweringServer()
  const closeRest = async (): Promise<void> => {
    backend.close()
    await rm(folder, { recursive: true })
  }
  try {
    const port = await freePort()
    const routes = [...Array(count).keys()].flatMap((index) => objectsOf(index, host, backend.port))
    await mkdir(resources)
    const { put } = await writeFiles(resources, [...routes, gatewayAt(port)], perFile)
    const gatehouse = await serveFiles(resources, grpc)
    const { pid, log, startupMs } = gatehouse
    const close = async (): Promise<void> => {
      await stop([gatehouse])
      await closeRest()
    }
    return { count, pid, log, grpc, port, host, put, idleMs: IDLE_MS, ready: startupMs, close }
  } catch (error) {
    await closeRest()
    throw error
  }
}

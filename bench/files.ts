// npm run bench:files: measures the time from a file change to Envoy's ACK, with N routes and policies. Writes its
// section of docs/performance.md.

import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startAnsweringServer } from './answering-server.js'
import { serveFiles } from './gatehouse.js'
import { measureLiveChanges } from './live-changes.js'
import { COUNTS, type LiveRow, reportFiles } from './live-report.js'
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

async function measureAll(perFile: number, host: HostOf): Promise<readonly LiveRow[]> {
  const rows: LiveRow[] = []
  for (const count of COUNTS) {
    process.stderr.write(`bench: ${String(count)} routes and policies, ${String(perFile)} a file\n`)
    rows.push(await measure(count, perFile, host))
  }
  return rows
}

async function measure(count: number, perFile: number, host: HostOf): Promise<LiveRow> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-bench-'))
  const resources = join(folder, 'resources')
  const grpc = `unix:${join(folder, 'grpc.sock')}`
  const backend = await startAnsweringServer()
  try {
    const port = await freePort()
    const routes = [...Array(count).keys()].flatMap((index) => objectsOf(index, host, backend.port))
    await mkdir(resources)
    const { put } = await writeFiles(resources, [...routes, gatewayAt(port)], perFile)
    const gatehouse = await serveFiles(resources, grpc)
    try {
      const { pid, log } = gatehouse
      const changes = await measureLiveChanges({
        ...{ count, pid, log, grpc, port, host, put, idleMs: IDLE_MS },
      })
      return { count, ready: gatehouse.startupMs, ...changes }
    } finally {
      await stop([gatehouse])
    }
  } finally {
    backend.close()
    await rm(folder, { recursive: true })
  }
}

// Readers of the admin pages are bounded in number and in patience; probes are answered whatever they do.

import { connect, type Socket } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import {
  type AdminServer,
  MAX_READERS,
  startAdminServer,
} from '../../../src/ops/admin/admin-server.js'
import type { ReportedResource } from '../../../src/ops/admin/status-report.js'
import { eventually } from '../../../testing/eventually.js'
import { countTurns } from '../../support/count-turns.js'
import { recordingLogger } from '../../wire/grpc/recording-logger.js'

let server: AdminServer | undefined
const sockets: Socket[] = []

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  await server?.close()
})

const route = (index: number): ReportedResource => ({
  apiVersion: 'v1',
  kind: 'HTTPRoute',
  namespace: 'default',
  name: `route-${String(index)}`,
  source: `${'x'.repeat(1_000)}.yaml:1`,
  conditions: [],
})

async function start(patienceMs?: number): Promise<string> {
  const notAsked = (): Promise<never> => Promise.reject(new Error('nobody asks'))
  const resources = Array.from({ length: 20_000 }, (_, index) => route(index))
  const source = {
    explain: () => Promise.resolve({ ok: false as const, error: 'not here' }),
    status: () => ({ ready: true, reasons: [], resources, envoys: [], remote: [] }),
    page: notAsked,
    readiness: () => ({ ready: true, reasons: [] }),
    configDump: () => null,
    metrics: notAsked,
  }
  const address = { type: 'tcp', host: '127.0.0.1', port: 0 } as const
  const { logger } = recordingLogger()
  const patience = patienceMs === undefined ? {} : { patienceMs }
  server = await startAdminServer({ address, source, logger, pages: 'all', ...patience })
  return server.address
}

/** Asks for a page of megabytes, and reads nothing of it. */
async function beginToRead(address: string): Promise<void> {
  const { hostname, port } = new URL(`http://${address}`)
  const socket = connect(Number(port), hostname)
  sockets.push(socket)
  socket.write(`GET /status HTTP/1.1\r\nHost: ${address}\r\n\r\n`)
  await new Promise<void>((resolve) => {
    socket.on('readable', () => resolve()).on('error', () => resolve())
  })
}

async function statusOf(address: string, path: string): Promise<number> {
  const answer = await fetch(`http://${address}${path}`)
  await answer.body?.cancel()
  return answer.status
}

test('one more than may read at once is told to come again, and probes are answered', async () => {
  const address = await start()
  for (let reader = 0; reader < MAX_READERS; reader += 1) await beginToRead(address)
  const refused = await fetch(`http://${address}/status`)
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1'])
  expect(await statusOf(address, '/readyz')).toBe(200)
  sockets[0]?.destroy()
  await eventually(async () => {
    expect(await statusOf(address, '/status')).toBe(200)
  })
})

test('those that do not read make room after a while', async () => {
  const address = await start(200)
  for (let reader = 0; reader < MAX_READERS; reader += 1) await beginToRead(address)
  await eventually(async () => {
    expect(await statusOf(address, '/status')).toBe(200)
  })
})

test('a status of thousands of resources is written in slices', async () => {
  const address = await start()
  const { result, turns } = await countTurns(async () => {
    const answer = await fetch(`http://${address}/status`)
    return (await answer.json()) as { readonly resources: readonly unknown[] }
  })
  expect(result.resources).toHaveLength(20_000)
  // A piece is 64 KiB of 20 MB.
  expect(turns).toBeGreaterThan(200)
})

// Clients that begin gRPC messages and never end them: all connections together hold a bounded amount.

import { type ClientHttp2Session, connect } from 'node:http2'
import { expect, test } from 'vitest'
import { Status } from '../../src/wire/grpc/status.js'
import { eventually } from '../../testing/eventually.js'
import { World } from '../support/world.js'

const MIB = 1024 * 1024
const LARGEST = 32 * MIB
/** --held-bytes below 64 MiB: the budget is the least, which all of these exceed together. */
const FLAGS = ['--held-bytes', '3MiB', '--max-body-bytes', '1MiB']
const CLIENTS = 4
const EACH = 20 * MIB

/** Begins a message of the largest size on a new connection, of which some never comes. */
function begin(address: string, ended: (status: number) => void): ClientHttp2Session {
  const session = connect(`http://${address}`)
  session.on('error', () => {})
  const stream = session.request({
    ':method': 'POST',
    // Checks and ext_proc streams would be answered by a refusal instead, and calls of the health service do not count.
    ':path': '/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources',
    'content-type': 'application/grpc',
    te: 'trailers',
  })
  const prefix = Buffer.alloc(5)
  prefix.writeUInt32BE(LARGEST, 1)
  stream.on('error', () => {})
  stream.on('response', (fields) => ended(Number(fields['grpc-status'])))
  stream.write(prefix)
  stream.write(Buffer.alloc(EACH))
  return session
}

test.for([1, 2])('with %i workers', async (workers, context) => {
  const statuses: number[] = []
  const world = await World.start(context)
  const gatehouse = await world.serve(world.resources, '--workers', String(workers), ...FLAGS)
  const ended = (status: number): number => statuses.push(status)
  const sessions = Array.from({ length: CLIENTS }, () => begin(world.grpc, ended))
  await eventually(() => expect(statuses).not.toEqual([]))
  expect(new Set(statuses)).toEqual(new Set([Status.RESOURCE_EXHAUSTED]))
  expect(statuses.length).toBeLessThan(CLIENTS)
  expect(await gatehouse.metrics()).toMatch(
    /^gatehouse_budget_reached_total\{budget="grpc-messages"\} [1-3]$/m,
  )
  for (const session of sessions) session.destroy()
})

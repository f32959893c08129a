// A call that has ended is garbage at once, however old its connection is.

import { once } from 'node:events'
import { connect as connectHttp2, createServer, type Http2Session } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { getHeapSpaceStatistics, queryObjects, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterEach, describe, expect, test } from 'vitest'
import { BoxMap } from '../../src/grpc/box-map.js'
import { replaceStreams } from '../../src/grpc/forget-streams.js'
import { allowing, check, closeAll, connect, start } from './grpc-harness.js'

afterEach(closeAll)

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as (options?: { type: 'minor' }) => void

const oldGeneration = (): number =>
  getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space')?.space_used_size ??
  NaN

/** How much of 30 MB that passed through a map ended in the old generation. */
function promoted(map: Map<number, object>): number {
  const step = (id: number): void => {
    map.set(id, new Array<number>(128).fill(id))
    map.delete(id - 32)
  }
  const steps = [...Array(30_000).keys()]
  steps.slice(0, 100).forEach(step)
  collect()
  const before = oldGeneration()
  steps.slice(100).forEach(step)
  collect({ type: 'minor' })
  return oldGeneration() - before
}

test('a map lets go of what was taken out, though one of its tables is old', () => {
  expect(promoted(new BoxMap())).toBeLessThan(3_000_000)
})

test('it is a Map in all other respects', () => {
  const map = new BoxMap<string, number>()
  expect(map.set('a', 1).set('b', 2).set('a', 3)).toBe(map)
  expect([map.size, map.get('a'), map.get('c'), map.has('b'), map.has('c')]).toEqual([
    2,
    3,
    undefined,
    true,
    false,
  ])
  const seen: unknown[] = []
  map.forEach((value, key) => {
    seen.push([key, value])
    map.delete(key)
    if (key === 'b') map.set('late', 4)
  })
  expect(seen).toEqual([
    ['a', 3],
    ['b', 2],
    ['late', 4],
  ])
  map.set('x', 5).set('y', 6)
  expect([[...map], [...map.keys()], [...map.values()], map.delete('z')]).toEqual([
    [
      ['x', 5],
      ['y', 6],
    ],
    ['x', 'y'],
    [5, 6],
    false,
  ])
  map.clear()
  expect([map.size, ...map]).toEqual([0])
})

test('every connection of the server gets one', async () => {
  const server = await start([allowing])
  const before = queryObjects(BoxMap, { format: 'count' })
  await check(connect(server))
  expect(queryObjects(BoxMap, { format: 'count' })).toBe(before + 1)
})

describe('a session of Node', () => {
  test('serves, and ends its open streams with itself', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    const sessions: Http2Session[] = []
    server.on('session', (session) => {
      expect(replaceStreams(session)).toBe(true)
      sessions.push(session)
    })
    server.on('stream', (stream, headers) => {
      stream.on('error', () => undefined)
      if (headers[':path'] === '/') stream.end('done')
      else stream.respond()
    })
    await once(server, 'listening')
    const client = connectHttp2(
      `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    )
    client.on('error', () => undefined)
    const request = client.request({ ':path': '/' }).setEncoding('utf8')
    expect(await once(request, 'data')).toEqual(['done'])
    const open = client.request({ ':path': '/open' })
    open.on('error', () => undefined)
    await once(open, 'response')
    // Streams are open: it is too late.
    expect(sessions.map(replaceStreams)).toEqual([false])
    sessions[0]?.destroy()
    await once(open, 'close')
    server.close()
  })

  test('that looks different from within stays as it is', () => {
    expect(replaceStreams({} as Http2Session)).toBe(false)
    const other = { [Symbol('state')]: { streams: new Set() } }
    expect(replaceStreams(other as unknown as Http2Session)).toBe(false)
  })
})

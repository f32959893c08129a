// Gatehouse down, slow or restarting beside a separate Envoy: callers get 503, and nothing unchecked gets through.

import { describe, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { initialize, send } from '../support/http.js'
import { httpRoute, rule } from '../support/resources.js'
import { startTraffic, statusesOf } from '../support/traffic.js'
import { METADATA, token, World } from '../support/world.js'

const COME_AGAIN = { status: 503, headers: { 'retry-after': '1' } }

describe.concurrent('Gatehouse is killed', () => {
  test('the protected route and its documents answer 503, the open one is served; all are served when it is back', async (context) => {
    const world = await World.start(context)
    const first = await world.serve()
    await world.startEnvoy()
    await world.works()
    await first.stop('SIGKILL')
    const seen = world.backend.requests.length
    for (const path of ['/mcp', ...METADATA])
      for (const headers of [{}, token])
        expect(await send(world.origin, path, { headers })).toMatchObject(COME_AGAIN)
    expect(await world.register()).toMatchObject(COME_AGAIN)
    expect((await send(world.origin, '/mcp', { ...initialize, headers: token })).status).toBe(503)
    expect(world.backend.requests).toHaveLength(seen)
    expect(await world.statusOf('/open')).toBe(200)
    await world.serve()
    await world.works()
    expect(await world.statusOf('/mcp')).toBe(401)
  })

  test('a change that was made meanwhile is in force when it is back', async (context) => {
    const world = await World.start(context)
    const first = await world.serve()
    await world.startEnvoy()
    await world.works()
    await first.stop('SIGKILL')
    await world.serve([...world.resources, httpRoute('new', { rules: [rule('/new', 'backend')] })])
    await eventually(async () => expect(await world.statusOf('/new')).toBe(200), 20_000)
  })
})

describe.concurrent('Gatehouse is there but does not answer', () => {
  test('callers get 503 within the time of a check, never through', async (context) => {
    const world = await World.start(context)
    const gatehouse = await world.serve()
    await world.startEnvoy()
    await world.works()
    const seen = world.backend.requests.length
    gatehouse.child.kill('SIGSTOP')
    for (const answer of await Promise.all(
      [{}, token].map((headers) => send(world.origin, '/mcp', { headers })),
    ))
      expect(answer).toMatchObject(COME_AGAIN)
    expect(await world.statusOf('/open')).toBe(200)
    expect(world.backend.requests.slice(seen).map(({ url }) => url)).toEqual(['/open'])
    gatehouse.child.kill('SIGCONT')
    await world.works()
  })

  test('the OAuth documents are 503 too, after the time of a call to the provider', async (context) => {
    const world = await World.start(context)
    const gatehouse = await world.serve()
    await world.startEnvoy()
    await world.works()
    gatehouse.child.kill('SIGSTOP')
    expect(await send(world.origin, '/.well-known/oauth-protected-resource/mcp')).toMatchObject(
      COME_AGAIN,
    )
    gatehouse.child.kill('SIGCONT')
    await world.works()
  })
})

describe.concurrent('Gatehouse starts again and again under traffic', () => {
  test('a caller passes or gets 503; one without a token never passes', async (context) => {
    const world = await World.start(context)
    const first = await world.serve()
    await world.startEnvoy()
    await world.works()
    const good = startTraffic({
      url: `${world.origin}/mcp`,
      headers: { ...token, 'x-caller': 'good' },
    })
    const bad = startTraffic({ url: `${world.origin}/mcp`, headers: { 'x-caller': 'bad' } })
    const open = startTraffic({ url: `${world.origin}/open`, headers: { 'x-caller': 'good' } })
    /** Each of them has got this since. */
    const has = async (goodStatus: string, badStatus: string): Promise<void> => {
      const from = [good, bad].map(({ outcomes }) => outcomes.length)
      await eventually(() => {
        const since = [good, bad].map(({ outcomes }, at) => statusesOf(outcomes.slice(from[at])))
        expect(since[0]).toHaveProperty(goodStatus)
        expect(since[1]).toHaveProperty(badStatus)
      }, 20_000)
    }
    await first.stop('SIGKILL')
    await has('503', '503')
    const second = await world.serve()
    await has('200', '401')
    await second.stop('SIGKILL')
    await has('503', '503')
    await world.serve()
    await has('200', '401')
    const [goods, bads, opens] = await Promise.all([good.stop(), bad.stop(), open.stop()])
    expect(Object.keys(statusesOf(goods)).sort()).toEqual(['200', '503'])
    expect(Object.keys(statusesOf(bads)).sort()).toEqual(['401', '503'])
    expect(Object.keys(statusesOf(opens))).toEqual(['200'])
    expect(world.backend.requests.filter(({ headers }) => headers['x-caller'] === 'bad')).toEqual(
      [],
    )
  })

  test('a stream that comes back at the same version leaves no cluster or listener warming, and takes changes', async (context) => {
    const world = await World.start(context)
    const first = await world.serve()
    const envoy = await world.startEnvoy()
    await world.works()
    const updates = await envoy.stat('listener_manager.listener_modified')
    await first.stop('SIGKILL')
    const second = await world.serve()
    await eventually(async () => {
      expect(await envoy.stat('control_plane.connected_state')).toBe(1)
      expect(await second.metrics()).toMatch(
        /xds_pushes_total\{type="ClusterLoadAssignment"\} [1-9]/,
      )
    }, 20_000)
    expect(await envoy.stat('cluster_manager.warming_clusters')).toBe(0)
    expect(await envoy.stat('listener_manager.total_listeners_warming')).toBe(0)
    expect(await envoy.stat('listener_manager.listener_modified')).toBe(updates)
    await second.write('more.yaml', httpRoute('new', { rules: [rule('/new', 'backend')] }))
    await eventually(async () => expect(await world.statusOf('/new')).toBe(200))
  })
})

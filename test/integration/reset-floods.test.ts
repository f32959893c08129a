// Thousands of cancelled requests, and crowds of clients: Envoy resets the check and the processing of each, and other
// requests are not affected.

import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type IncomingHttpHeaders,
  type IncomingHttpStatusHeader,
} from 'node:http2'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import {
  answerJson,
  chat,
  completion,
  type GuardedStack,
  startGuardedStack,
} from '../support/guardrails.js'
import { bearer } from '../support/http.js'
import { requestMany } from '../support/many-requests.js'
import { jwt, sign } from '../support/protected-stack.js'
import { httpRoute, proxyPolicy, rule } from '../support/resources.js'
import { newKey } from '../support/tokens.js'
import { token, World } from '../support/world.js'

const CHATS = '/both/v1/chat/completions'

interface Asked {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

function opened(session: ClientHttp2Session, { path, headers, body }: Asked): ClientHttp2Stream {
  const method = body === undefined ? 'GET' : 'POST'
  const stream = session.request({ ':method': method, ':path': path, ...headers })
  stream.on('error', () => {})
  if (body !== undefined) stream.end(body)
  return stream
}

const statusOf = (stream: ClientHttp2Stream): Promise<number | undefined> =>
  new Promise((resolve) => {
    stream.on('response', (headers: IncomingHttpHeaders & IncomingHttpStatusHeader) =>
      resolve(headers[':status']),
    )
    stream.on('close', () => resolve(undefined))
    stream.resume()
  })

const reply = answerJson(completion('hello'))

/** Envoy ends a client's connection for 500 early resets: so few in each. */
const RESETS_EACH = 300

async function giveUpMany(session: ClientHttp2Session, asked: Asked): Promise<void> {
  session.on('error', () => {})
  for (let sent = 0; sent < RESETS_EACH && !session.closed; sent++) {
    const stream = opened(session, asked)
    // Envoy has to see the request before its end.
    await new Promise((resolve) => setImmediate(resolve))
    stream.close(constants.NGHTTP2_CANCEL)
  }
}

async function connected(origin: string): Promise<ClientHttp2Session> {
  const session = connect(origin)
  session.on('error', () => {})
  await new Promise((resolve) => session.once('remoteSettings', resolve))
  return session
}

describe('resets that Envoy reads at once', () => {
  test('are more than a thousand, and end no connection to Gatehouse', async (context) => {
    const world = await World.start(context)
    await world.serve()
    const envoy = await world.startEnvoy()
    await world.works()
    const stat = (name: string) => envoy.stat(`cluster.gatehouse_ext_authz.${name}`)
    const sessions = await Promise.all(Array.from({ length: 20 }, () => connected(world.origin)))
    process.kill(envoy.pid, 'SIGSTOP')
    await Promise.all(
      sessions.map((session) => giveUpMany(session, { path: '/mcp', headers: token })),
    )
    process.kill(envoy.pid, 'SIGCONT')
    await eventually(async () => expect(await stat('http2.tx_reset')).toBeGreaterThan(3_000))
    expect(await world.statusOf('/mcp', token)).toBe(200)
    expect(await stat('http2.outbound_control_flood')).toBe(0)
    for (const session of sessions) session.destroy()
  })
})

describe('beside honest requests', () => {
  let stack: GuardedStack
  let asked: Record<'api' | 'chats', Asked>

  beforeAll(async () => {
    const key = await newKey('k1')
    stack = await startGuardedStack([
      httpRoute('api', { rules: [rule('/api', 'llm')] }),
      proxyPolicy('api', 'api', { jwtAuthentication: jwt([key]) }),
    ])
    asked = {
      api: { path: '/api', headers: bearer(await sign(key)) },
      chats: {
        path: CHATS,
        headers: { 'content-type': 'application/json' },
        body: chat('hello'),
      },
    }
  })
  afterAll(() => stack.close())
  beforeEach(() => stack.reset())

  const stats = async (): Promise<ReadonlyMap<string, number>> => {
    const text = await (await fetch(`${stack.envoyAdmin}/stats`)).text()
    return new Map(
      text.split('\n').map((line) => {
        const [name = '', value = ''] = line.split(': ')
        return [name, Number(value)]
      }),
    )
  }
  /** Connections to Gatehouse that ended, but for those that a busy machine made too slow to answer a PING. */
  const endsIn = (all: ReadonlyMap<string, number>, cluster: string): number =>
    (all.get(`${cluster}.upstream_cx_destroy`) ?? 0) -
    (all.get(`${cluster}.http2.keepalive_timeout`) ?? 0)
  const overflowsIn = (all: ReadonlyMap<string, number>): string[] =>
    [...all].flatMap(([name, value]) => (/overflow|flood/.test(name) && value > 0 ? [name] : []))

  const honest = ({ path, headers, body }: Asked, count: number) =>
    requestMany({
      url: stack.origin + path,
      method: body === undefined ? 'GET' : 'POST',
      headers,
      ...(body === undefined ? {} : { body }),
      count,
      connections: 4,
    })

  const ROUTES = [
    ['checks', 'api', 'cluster.gatehouse_ext_authz'],
    ['guarded requests', 'chats', 'cluster.gatehouse_ext_proc'],
  ] as const

  test.each(ROUTES)(
    '2,000 %s that Envoy resets: each is answered',
    async (_what, name, cluster) => {
      expect(await honest(asked[name], 1)).toEqual({ 200: 1 })
      const before = await stats()
      const resets = async () => (await stats()).get(`${cluster}.http2.tx_reset`) ?? 0
      const enough = (await resets()) + 2_000
      // In step: a busy machine takes longer, and no more is under way on it.
      while ((await resets()) < enough) {
        const sessions = Array.from({ length: 4 }, () => connect(stack.origin))
        const floods = Promise.all(sessions.map((session) => giveUpMany(session, asked[name])))
        expect(await honest(asked[name], 20)).toEqual({ 200: 20 })
        await floods
        for (const session of sessions) session.destroy()
      }
      const after = await stats()
      expect(endsIn(after, cluster)).toBe(endsIn(before, cluster))
      expect(overflowsIn(after)).toEqual([])
    },
    120_000,
  )

  test.each(ROUTES)(
    '1,500 %s at once: no breaker opens, each is answered',
    async (_what, name) => {
      const held: (() => void)[] = []
      stack.llm.answer((request, response) => {
        held.push(() => reply(request, response))
      })
      const sessions = await Promise.all(Array.from({ length: 15 }, () => connected(stack.origin)))
      const crowd = sessions.flatMap((session) =>
        Array.from({ length: 100 }, () => statusOf(opened(session, asked[name]))),
      )
      await eventually(() => expect(held).toHaveLength(1_500), 60_000)
      expect(overflowsIn(await stats())).toEqual([])
      for (const answer of held.splice(0)) answer()
      const statuses = await Promise.all(crowd)
      expect(statuses.filter((status) => status !== 200)).toEqual([])
      for (const session of sessions) session.destroy()
    },
    120_000,
  )
})

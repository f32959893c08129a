// Rules of an HTTPRoute and of its policies that are added and removed while the route is in use.

import { Agent, request } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { bearer, send } from '../support/http.js'
import { jwt, type ProtectedStack, sign, startProtectedStack } from '../support/protected-stack.js'
import { httpRoute, proxyPolicy, rule } from '../support/resources.js'
import { newKey } from '../support/tokens.js'
import { startTraffic, statusesOf } from '../support/traffic.js'

const ours = await newKey('k1')
const token = bearer(await sign(ours))

let stack: ProtectedStack

const routeOf = (...paths: readonly string[]): object =>
  httpRoute('shop', { rules: paths.map((path) => rule(path, 'backend')) })

const statusOf = async (path: string): Promise<number> =>
  (await send(stack.origin, path, { headers: token })).status

beforeAll(async () => {
  stack = await startProtectedStack([
    proxyPolicy('shop', 'shop', { jwtAuthentication: jwt([ours]) }),
  ])
})
afterAll(() => stack.close())

test('callers of the other rules get in all the while', async () => {
  await stack.write('shop.yaml', routeOf('/cart', '/search'))
  await eventually(async () => expect(await statusOf('/search')).toBe(200))
  const url = `${stack.origin}/search`
  const traffic = startTraffic({ url, headers: token, connections: 4 })
  for (let round = 0; round < 5; round++) {
    await stack.write('shop.yaml', routeOf('/new', '/cart', '/search'))
    await eventually(async () => expect(await statusOf('/new')).toBe(200))
    await stack.write('shop.yaml', routeOf('/cart', '/search'))
    await eventually(async () => expect(await statusOf('/new')).toBe(404))
  }
  expect(Object.keys(statusesOf(await traffic.stop()))).toEqual(['200'])
})

/** One connection, kept. */
function startCaller(): Caller {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  return {
    call: (path, headers) =>
      new Promise((resolve, reject) => {
        const outgoing = request(`${stack.origin}${path}`, { agent, headers }, (incoming) => {
          const { localPort } = incoming.socket
          incoming.resume().on('end', () => {
            resolve({ status: incoming.statusCode, localPort })
          })
        })
        outgoing.on('error', reject).end()
      }),
    close: () => agent.destroy(),
  }
}

interface Caller {
  call(
    path: string,
    headers: Record<string, string>,
  ): Promise<{ status?: number; localPort?: number }>
  close(): void
}

test('a Deny of a header that no rule read before holds on connections that are open', async () => {
  await stack.write('shop.yaml', routeOf('/search'))
  await eventually(async () => expect(await statusOf('/search')).toBe(200))
  const caller = startCaller()
  const headers = { ...token, 'x-banned': 'yes' }
  const { localPort, status } = await caller.call('/search', headers)
  expect(status).toBe(200)
  const authorization = {
    action: 'Deny',
    policy: { matchExpressions: ['"x-banned" in request.headers'] },
  }
  await stack.write('banned.yaml', proxyPolicy('banned', 'shop', { authorization }))
  await eventually(async () => {
    expect(await caller.call('/search', headers)).toEqual({ status: 403, localPort })
  })
  expect(await caller.call('/search', token)).toEqual({ status: 200, localPort })
  caller.close()
})

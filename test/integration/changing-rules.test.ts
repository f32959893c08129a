// Rules that come and go in an HTTPRoute whose other rules are in use.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../support/eventually.js'
import { bearer, send } from '../support/http.js'
import { jwt, sign, startProtectedStack, type ProtectedStack } from '../support/protected-stack.js'
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

test('callers of the others get in all the while', async () => {
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

// Preflights for rules that match a method: the browser sends OPTIONS before a POST, and the rule's CORS filter answers
// it.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Answer } from '../support/http.js'
import { gateway, prefix, proxyPolicy } from '../support/resources.js'
import { route, startTwoBackends, type TwoBackends, when } from '../support/two-backends.js'

const cors = (allowOrigins: readonly string[], more: object = {}): object => ({
  filters: [{ type: 'CORS', cors: { allowOrigins, ...more } }],
})
const APP = 'https://app.example'

let world: TwoBackends
beforeAll(async () => {
  world = await startTwoBackends((port) => [
    gateway([port]),
    route(
      'shop',
      'shop.example',
      when({ ...prefix('/orders'), method: 'POST' }, 'a', cors([APP], { maxAge: 7 })),
      when({ ...prefix('/orders'), method: 'DELETE' }, 'a'),
      when(prefix('/orders'), 'b'),
      when({ ...prefix('/own'), method: 'POST' }, 'a', cors([APP], { maxAge: 7 })),
      when({ ...prefix('/own'), method: 'OPTIONS' }, 'b', cors([APP], { maxAge: 8 })),
    ),
    route(
      'locked',
      'locked.example',
      when({ ...prefix('/'), method: 'POST' }, 'a', cors([APP], { allowMethods: ['POST'] })),
    ),
    proxyPolicy('locked', 'locked', { authorization: { policy: { matchExpressions: ['false'] } } }),
  ])
})
afterAll(() => world.close())

const preflight = (host: string, path: string, method: string, origin = APP): Promise<Answer> =>
  world.ask(host, path, {
    method: 'OPTIONS',
    headers: { origin, 'access-control-request-method': method },
  })

describe('a preflight', () => {
  test('is answered by the rule of the method that it asks for', async () => {
    const { status, headers, body } = await preflight('shop.example', '/orders', 'POST')
    expect(status).toBe(200)
    expect(headers['access-control-allow-origin']).toBe(APP)
    expect(headers['access-control-max-age']).toBe('7')
    expect(body).toBe('')
  })

  test('of another method or origin gets nothing from it', async () => {
    const other = await preflight('shop.example', '/orders', 'DELETE')
    expect(other.body).toBe('b')
    expect(other.headers['access-control-allow-origin']).toBeUndefined()
    const stranger = await preflight('shop.example', '/orders', 'POST', 'https://evil.example')
    expect(stranger.headers['access-control-allow-origin']).toBeUndefined()
    expect(stranger.body).toBe('')
  })

  test('is left to a rule that is written for OPTIONS', async () => {
    const { headers } = await preflight('shop.example', '/own', 'POST')
    expect(headers['access-control-max-age']).toBe('8')
  })

  test('needs no right to the route, and gets no further', async () => {
    const seen = world.a.requests.length
    const { status, headers } = await preflight('locked.example', '/x', 'POST')
    expect(status).toBe(200)
    expect(headers['access-control-allow-methods']).toBe('POST')
    expect(world.a.requests.length).toBe(seen)
  })

  test('an OPTIONS that is no preflight is routed as before', async () => {
    const none = { method: 'OPTIONS', headers: { origin: APP } }
    expect(await world.whoAnswers('shop.example', '/orders', none)).toBe('b')
    expect(await world.whoAnswers('locked.example', '/x', none)).toBe(404)
    const empty = { 'access-control-request-method': 'POST', origin: '' }
    expect(
      await world.whoAnswers('locked.example', '/x', { method: 'OPTIONS', headers: empty }),
    ).toBe(404)
  })
})

test('the requests themselves go where their method leads', async () => {
  const headers = { origin: APP }
  const posted = await world.ask('shop.example', '/orders', { method: 'POST', headers })
  expect(posted.body).toBe('a')
  expect(posted.headers['access-control-allow-origin']).toBe(APP)
  expect(await world.whoAnswers('shop.example', '/orders')).toBe('b')
  expect(await world.whoAnswers('locked.example', '/x', { method: 'POST', headers })).toBe(403)
})

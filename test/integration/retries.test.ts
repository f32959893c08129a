// Retries of an HTTPRoute, through a real Envoy: which requests are tried again, how often, and which are not.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { gateway, prefix } from '../support/resources.js'
import { route, startTwoBackends, type TwoBackends, when } from '../support/two-backends.js'

const HOST = 'shop.example'

let world: TwoBackends
beforeAll(async () => {
  world = await startTwoBackends((port) => [
    gateway([port]),
    route(
      'shop',
      HOST,
      when(prefix('/codes'), 'a', { retry: { codes: [503, 429], attempts: 2, backoff: '1ms' } }),
      when(prefix('/lost'), 'a', { retry: { attempts: 1 } }),
      when(prefix('/late'), 'a', {
        retry: { attempts: 1 },
        timeouts: { request: '60s', backendRequest: '2s' },
      }),
      when(prefix('/once'), 'a', { timeouts: { backendRequest: '60s' } }),
    ),
  ])
})
afterAll(() => world.close())

/** Makes the backend fail this many times and then answer. Resolves to the number of tries and the answer. */
async function triesOf(
  path: string,
  failures: number,
  fail: Parameters<typeof world.a.answer>[0],
): Promise<readonly [number, string | number]> {
  const before = world.a.requests.length
  world.a.answer((request, response) => {
    if (world.a.requests.length - before <= failures) fail(request, response)
    else response.end(request.body)
  })
  const who = await world.whoAnswers(HOST, path, { method: 'POST', body: 'hello' })
  return [world.a.requests.length - before, who]
}

const status =
  (code: number): Parameters<typeof world.a.answer>[0] =>
  (_, response) =>
    response.writeHead(code).end('failed')

test.each([
  ['a code of the list', '/codes', 503, 2, [3, 'hello']],
  ['a code of the list, once more than allowed', '/codes', 429, 3, [3, 429]],
  ['another code', '/codes', 500, 1, [1, 500]],
  ['a code of a rule without codes', '/lost', 503, 1, [1, 503]],
  ['a code of a rule without retry', '/once', 503, 1, [1, 503]],
])('%s', async (_, path, code, failures, expected) => {
  expect(await triesOf(path, failures, status(code))).toEqual(expected)
})

test('a connection that breaks is tried again', async () => {
  const breaks: Parameters<typeof world.a.answer>[0] = (_, response) => response.destroy()
  expect(await triesOf('/lost', 1, breaks)).toEqual([2, 'hello'])
  expect(await triesOf('/lost', 2, breaks)).toEqual([2, 503])
  expect(await triesOf('/once', 1, breaks)).toEqual([1, 503])
})

test('a try that takes too long is given up, and the next one answers', async () => {
  expect(await triesOf('/late', 1, () => undefined)).toEqual([2, 'hello'])
})

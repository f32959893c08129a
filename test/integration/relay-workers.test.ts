// Limits of a relay hold for all workers together: registrations of one network, and token requests that the provider
// has not answered yet. Tested with one and four workers.

import { request, type ServerResponse } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { exchangeAt, logInAt } from '../support/relay-login.js'
import { AS, type RelayStack, startRelayStack } from '../support/relay-stack.js'

/** The limits of decision 10i. */
const REGISTRATIONS = { burst: 100, perSecond: 5 }
const TOKEN_CALLS = 64

interface Answer {
  readonly status: number | undefined
  readonly body: string
}

describe.each([1, 4])('with %i', (workers) => {
  let world: RelayStack

  beforeAll(async () => {
    world = await startRelayStack({ flags: ['--workers', String(workers)] })
  })
  afterAll(() => world.close())

  /** Posts from an address, each network of which has limits of its own, on a connection of its own. */
  const post = (localAddress: string, path: string, type: string, body: string): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const asked = request(world.stack.origin + AS + path, {
        method: 'POST',
        localAddress,
        agent: false,
        headers: { 'content-type': type },
      })
      asked.on('error', reject)
      asked.on('response', (answer) => {
        let text = ''
        answer.setEncoding('utf8').on('data', (part: string) => (text += part))
        answer.on('end', () => resolve({ status: answer.statusCode, body: text }))
      })
      asked.end(body)
    })

  test('one network registers no more clients than one process lets it', async () => {
    const body = JSON.stringify({ redirect_uris: ['http://127.0.0.1/cb'] })
    const statuses: (number | undefined)[] = []
    const began = performance.now()
    const flood = async (): Promise<void> => {
      for (let sent = 0; sent < 30; sent++)
        statuses.push(
          (await post('127.9.9.9', '/client-registration', 'application/json', body)).status,
        )
    }
    await Promise.all(Array.from({ length: 12 }, flood))
    const seconds = (performance.now() - began) / 1000
    const registered = statuses.filter((status) => status === 201)
    expect(new Set(statuses)).toEqual(new Set([201, 429]))
    expect(registered.length).toBeLessThanOrEqual(
      REGISTRATIONS.burst + Math.ceil(seconds * REGISTRATIONS.perSecond),
    )
  })

  test('a provider has no more token requests to answer at once', async () => {
    const { origin } = world.stack
    const login = await logInAt(origin)
    const tokens = await exchangeAt(origin, login)
    const held: ServerResponse[] = []
    world.idp.intercept((asked, response) => {
      const isToken =
        asked.url?.endsWith('/token/') === true || asked.url?.endsWith('/token') === true
      if (isToken) held.push(response)
      return isToken
    })
    const form = new URLSearchParams({
      grant_type: 'refresh_token',
      client_id: login.client,
      refresh_token: tokens.refresh_token ?? '',
    }).toString()
    const answers: Answer[] = []
    const TIMES = TOKEN_CALLS + 40
    const all = Promise.all(
      Array.from({ length: TIMES }, async (_, index) => {
        const network = `127.1.${String(index)}.1`
        answers.push(await post(network, '/token', 'application/x-www-form-urlencoded', form))
      }),
    )
    await eventually(() => expect(held.length + answers.length).toBe(TIMES))
    expect(held.length).toBeLessThanOrEqual(TOKEN_CALLS)
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([503]))
    expect(answers[0]?.body).toContain('temporarily_unavailable')
    for (const response of held)
      response
        .writeHead(400, { 'content-type': 'application/json' })
        .end('{"error":"invalid_grant"}')
    await all
    expect(answers.filter(({ status }) => status === 400)).toHaveLength(held.length)
  })
})

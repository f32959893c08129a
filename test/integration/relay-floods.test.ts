// Floods at a relay through Envoy: the flooding client is rejected, whatever addresses it claims, and a client
// elsewhere logs in.

import { request } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ts2 } from '../support/clients/ts2.js'
import { authorizationAt, registerAt } from '../support/relay-login.js'
import { AS, consenting, type RelayStack, startRelayStack } from '../support/relay-stack.js'

/** An address of another network than 127.0.0.1, which the official client uses. */
const FLOODER = '127.9.9.9'

let world: RelayStack

beforeAll(async () => {
  world = await startRelayStack()
})

afterAll(() => world.close())

interface Sent {
  readonly status: number
  readonly location: string
  readonly retryAfter: string | undefined
}

/** Sends a request from the flooder's address, with a different forged client address each time. */
function send(path: string, body?: string): Promise<Sent> {
  const made = Array.from({ length: 4 }, () => Math.floor(Math.random() * 254) + 1).join('.')
  return new Promise((resolve, reject) => {
    const asked = request(world.stack.origin + path, {
      method: body === undefined ? 'GET' : 'POST',
      localAddress: FLOODER,
      agent: false,
      headers: { 'content-type': 'application/json', 'x-forwarded-for': made },
    })
    asked.on('error', reject)
    asked.on('response', (answer) => {
      answer.resume().on('end', () =>
        resolve({
          status: answer.statusCode ?? 0,
          location: answer.headers.location ?? '',
          retryAfter: answer.headers['retry-after'],
        }),
      )
    })
    asked.end(body)
  })
}

test.each<[string, () => Promise<() => Promise<Sent>>, (sent: Sent) => boolean]>([
  [
    'registrations',
    () => {
      const body = JSON.stringify({ redirect_uris: ['http://127.0.0.1/cb'] })
      return Promise.resolve(() => send(`${AS}/client-registration`, body))
    },
    ({ status, retryAfter }) => status === 429 && retryAfter === '5',
  ],
  [
    'logins',
    async () => {
      const { origin } = world.stack
      const url = authorizationAt(origin, await registerAt(origin), 'v'.repeat(43))
      return () => send(url.pathname + url.search)
    },
    ({ location }) => location.includes('error=temporarily_unavailable'),
  ],
])('a flood of %s is refused, and a client elsewhere logs in', async (_, prepare, isRefused) => {
  const ask = await prepare()
  let isOver = false
  let refused = 0
  const flood = async (): Promise<void> => {
    while (!isOver) if (isRefused(await ask())) refused += 1
  }
  const floods = Array.from({ length: 8 }, flood)
  try {
    await expect.poll(() => refused, { timeout: 45_000 }).toBeGreaterThan(0)
    expect((await ts2(world.url, 'alice', consenting)).echo).toBe('Echo: hi')
  } finally {
    isOver = true
    await Promise.all(floods)
  }
})

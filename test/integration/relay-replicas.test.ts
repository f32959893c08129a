// Two replicas of a relay that share its keys: each opens what the other has sealed, also after restarts; and nothing
// sealed under a retired key opens.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { exchangeAt, logInAt, refreshAt, registerAt } from '../support/relay-login.js'
import {
  providerFetched,
  relayPolicy,
  type RelayStack,
  startRelayStack,
} from '../support/relay-stack.js'
import { gateway, mcpRoute, proxyBackend } from '../support/resources.js'
import { type Stack, startStack } from '../support/stack.js'

const [OLD, NEW, OTHER] = ['a', 'b', 'c'].map((letter) => letter.repeat(32))

const secret = (name: string, key: string | undefined): object => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name },
  data: { key: Buffer.from(key ?? '').toString('base64') },
})

const SECRETS = [secret('old', OLD), secret('new', NEW), secret('other', OTHER)]
const keys = (...names: readonly string[]): object => ({ keyRef: names.map((name) => ({ name })) })

let one: RelayStack
let two: Stack

/** Another gateway, which says that it is the first. */
const resources = (port: number, relay: object): readonly object[] => [
  gateway([port]),
  proxyBackend('everything', one.server),
  proxyBackend('idp', one.idp),
  mcpRoute('mcp', 'everything'),
  relayPolicy(one.idp, one.url, relay),
  ...SECRETS,
]

beforeAll(async () => {
  one = await startRelayStack({ relay: keys('old'), more: SECRETS })
  two = await startStack({ resources: (port) => resources(port, keys('new', 'old')) })
  await providerFetched(two)
})

afterAll(async () => {
  await two.close()
  await one.close()
})

test('a code of one is exchanged at the other, and its refresh token too', async () => {
  const login = await logInAt(one.stack.origin)
  const tokens = await exchangeAt(two.origin, login)
  expect(tokens).toMatchObject({ access_token: expect.any(String) as string })
  const again = await refreshAt(two.origin, login.client, tokens.refresh_token ?? '')
  expect(again).toMatchObject({ access_token: expect.any(String) as string })
})

test('a code is good for once: the provider knows its own', async () => {
  const login = await logInAt(one.stack.origin)
  expect(await exchangeAt(two.origin, login)).toHaveProperty('access_token')
  expect(await exchangeAt(one.stack.origin, login)).toEqual(
    expect.objectContaining({ error: 'invalid_grant' }),
  )
})

test('what a key has signed and sealed is good until it is retired', async () => {
  const login = await logInAt(one.stack.origin)
  const tokens = await exchangeAt(one.stack.origin, login)
  const atTwo = await registerAt(two.origin)
  await two.write('resources.yaml', ...resources(two.port, keys('new')))
  await eventually(async () => {
    const answer = await refreshAt(two.origin, login.client, tokens.refresh_token ?? '')
    expect(answer.error).toBe('invalid_client')
  })
  expect((await refreshAt(two.origin, atTwo, tokens.refresh_token ?? '')).error).toBe(
    'invalid_grant',
  )
})

test('a replica with another key opens nothing', async () => {
  await two.write('resources.yaml', ...resources(two.port, keys('other')))
  const login = await logInAt(one.stack.origin)
  await eventually(async () => {
    expect((await exchangeAt(two.origin, login)).error).toBe('invalid_client')
  })
})

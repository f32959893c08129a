// Which hosts' backends never get a relay's cookies: behind a proxy that changes Host, and after a relay was refused.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Backend, startBackend } from '../support/backend.js'
import { send } from '../support/http.js'
import { provider } from '../support/protected-stack.js'
import {
  type Document,
  gateway,
  httpRoute,
  mcpRoute,
  proxyBackend,
  proxyPolicy,
  rule,
} from '../support/resources.js'
import { type Stack, startStack } from '../support/stack.js'
import { newKey } from '../support/tokens.js'

const COOKIES = 'a=b; __Host-gatehouse-browser=c2VjcmV0; __Host-gatehouse-consent-eHg=c2VjcmV0'

const key = await newKey('k1')

/** A relay, whose provider nobody asks in these tests. */
const relay = (resource: string | undefined, mcp: object): Document =>
  proxyPolicy('mcp', 'mcp', {
    jwtAuthentication: {
      providers: [{ ...provider([key]), audiences: ['mcp'] }],
      mcp: {
        authorizationServer: 'Relay',
        ...mcp,
        ...(resource !== undefined && { resourceMetadata: { resource } }),
      },
    },
  })

const shop = (host: string): Document =>
  httpRoute(host.replaceAll('.', '-'), { hostnames: [host], rules: [rule('/', 'shop')] })

interface Case {
  readonly what: string
  readonly policy: Document
  /** Reason of its condition Accepted. */
  readonly accepted: 'Valid' | 'Invalid'
  /** Hostnames of the relay's route. */
  readonly hostnames: readonly string[]
  readonly withoutCookies: readonly string[]
  readonly untouched: readonly string[]
}

const VALID = { clientId: 'mcp' }

const CASES: readonly Case[] = [
  {
    what: 'behind a proxy that changes Host',
    policy: relay('https://mcp.example/mcp', VALID),
    accepted: 'Valid',
    hostnames: ['inner.example'],
    // The proxy may change Host by path.
    withoutCookies: ['mcp.example', 'inner.example', 'shop.example'],
    untouched: [],
  },
  {
    what: 'on each name of its route',
    policy: relay('https://mcp.example/mcp', VALID),
    accepted: 'Valid',
    hostnames: ['mcp.example', 'alias.example'],
    withoutCookies: ['mcp.example', 'alias.example'],
    untouched: ['shop.example'],
  },
  {
    what: 'refused',
    policy: relay('https://mcp.example/mcp', {}),
    accepted: 'Invalid',
    hostnames: ['mcp.example'],
    withoutCookies: ['mcp.example'],
    untouched: ['shop.example'],
  },
  {
    what: 'refused, without a resource',
    policy: relay(undefined, VALID),
    accepted: 'Invalid',
    hostnames: ['mcp.example'],
    withoutCookies: ['mcp.example'],
    untouched: ['shop.example'],
  },
  {
    what: 'whose route is gone',
    policy: relay('https://gone.example/mcp', VALID),
    accepted: 'Valid',
    hostnames: [],
    withoutCookies: ['gone.example'],
    untouched: ['shop.example'],
  },
]

let backend: Backend

beforeAll(async () => {
  backend = await startBackend('shop')
})

afterAll(() => backend.close())

describe.each(CASES)('a relay $what', ({ policy, accepted, hostnames, ...hosts }) => {
  let stack: Stack

  beforeAll(async () => {
    stack = await startStack({
      resources: (port) => [
        gateway([port]),
        proxyBackend('shop', backend),
        ...(hostnames.length === 0 ? [] : [mcpRoute('mcp', 'shop', '/mcp', { hostnames })]),
        policy,
        ...[...hosts.withoutCookies, ...hosts.untouched].map(shop),
      ],
    })
  })

  afterAll(() => stack.close())

  test('has this status', async () => {
    const [entry] = (await stack.status()).filter(({ kind }) => kind === 'ProxyPolicy')
    const condition = entry?.conditions.find(({ type }) => type === 'Accepted')
    expect(condition).toMatchObject({ reason: accepted })
  })

  const cookieAt = async (host: string): Promise<string | undefined> => {
    backend.requests.length = 0
    const { status } = await send(stack.origin, '/shop', {
      headers: ['host', host, 'cookie', COOKIES],
    })
    expect(status).toBe(200)
    return backend.requests[0]?.headers['cookie']
  }

  test.each(hosts.withoutCookies)('%s gets none of its cookies', async (host) => {
    expect(await cookieAt(host)).toBe('a=b')
  })

  test.each(hosts.untouched)('%s gets all cookies as sent', async (host) => {
    expect(await cookieAt(host)).toBe(COOKIES)
  })
})

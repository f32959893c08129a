// Which filter chain of an HTTPS listener a request reaches, by server name. test/integration/explain.test.ts compares
// the rest with a real Envoy.

import { expect, test } from 'vitest'
import { atOnce } from '../../../../src/kit/turns.js'
import type { FilterChain, Listener } from '../../../../src/model/ir.js'
import type { Route } from '../../../../src/model/route.js'
import { findRoute } from '../../../../src/ops/explain/routing/find-route.js'

const chain = (name: string, ...serverNames: readonly string[]): FilterChain => ({
  name,
  tls: { serverNames, certificates: ['c'] },
  virtualHosts: [{ name, domains: ['*'], routes: [] }],
})

const listener = (...chains: readonly FilterChain[]): Listener => ({ name: 'l', port: 443, chains })

function found(on: Listener, authority: string, scheme: 'http' | 'https' = 'https'): string {
  const request = { method: 'GET', scheme, authority, target: '/', headers: [] }
  const result = atOnce(findRoute(on, request))
  return 'chain' in result ? result.chain.name : result.type
}

const CHAINS = listener(
  chain('wide', '*.example'),
  chain('wider'),
  chain('narrow', 'a.example'),
  chain('deep', '*.b.example'),
)

test.each([
  ['a.example', 'narrow'],
  ['A.Example:8443', 'narrow'],
  ['x.example', 'wide'],
  ['x.b.example', 'deep'],
  ['b.example', 'wide'],
  ['other.test', 'wider'],
])('%s reaches the chain %s', (authority, name) => {
  expect(found(CHAINS, authority)).toBe(name)
})

test('without a chain for the server name, or without TLS, the connection is closed', () => {
  expect(found(listener(chain('narrow', 'a.example')), 'b.example')).toBe('no-chain')
  expect(found(CHAINS, 'a.example', 'http')).toBe('no-chain')
})

test('among many routes, the search reads one route between two yields', () => {
  let read = 0
  const routes = Array.from({ length: 300 }, (_, index): Route => {
    const path = { type: 'Exact', value: `/${String(index)}` } as const
    return {
      name: `default/route-${String(index)}/0/0`,
      get match() {
        read += 1
        return { path, headers: [], queryParams: [] }
      },
      action: { type: 'misdirected' },
    }
  })
  const host = { name: 'h', domains: ['*'], routes }
  const plain = { name: 'l', port: 80, chains: [{ name: 'c', virtualHosts: [host] }] }
  const request = { method: 'GET', scheme: 'http', authority: 'a', headers: [] } as const
  const work = findRoute(plain, { ...request, target: '/299' })
  for (;;) {
    read = 0
    const step = work.next()
    expect(read).toBeLessThanOrEqual(1)
    if (step.done !== true) continue
    expect(step.value).toMatchObject({ type: 'route', route: { name: 'default/route-299/0/0' } })
    return
  }
})

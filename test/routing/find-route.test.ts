// Which filter chain of an HTTPS listener a request reaches, by server name. test/integration/explain.test.ts compares
// the rest with a real Envoy.

import { expect, test } from 'vitest'
import type { FilterChain, Listener } from '../../src/ir/ir.js'
import { findRoute } from '../../src/routing/find-route.js'

const chain = (name: string, ...serverNames: readonly string[]): FilterChain => ({
  name,
  tls: { serverNames, certificates: ['c'] },
  virtualHosts: [{ name, domains: ['*'], routes: [] }],
})

const listener = (...chains: readonly FilterChain[]): Listener => ({ name: 'l', port: 443, chains })

function found(on: Listener, authority: string, scheme: 'http' | 'https' = 'https'): string {
  const request = { method: 'GET', scheme, authority, target: '/', headers: [] }
  const result = findRoute(on, request)
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

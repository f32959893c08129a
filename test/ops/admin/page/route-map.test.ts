// The map of the status page: which policies, issuers and webhooks each route is connected with.

import { expect, test } from 'vitest'
import { atOnce } from '../../../../src/kit/turns.js'
import type { AuthzEntry } from '../../../../src/model/authz-entry.js'
import type { Ir } from '../../../../src/model/ir.js'
import type { GuardEntry, Webhook } from '../../../../src/model/proc-entry.js'
import { type PolicyFacts, routeMap } from '../../../../src/ops/admin/page/route-map.js'

const EMPTY: Ir = { gateways: [], destinations: [], certificates: [], authz: [], proc: [] }

const webhook = (backend: string, failureMode: Webhook['failureMode']): Webhook => ({
  backend,
  failureMode,
  headers: [],
  mode: 'Sync',
  holdBack: 0,
  minIntervalMs: 0,
  inspectToolCalls: false,
  inspectTools: false,
  inspectFiles: false,
  maxConnections: 0,
  keepAliveSeconds: 0,
  target: { url: 'http://hook', endpoints: { type: 'addresses', addresses: [] } },
})

const AUTHZ: AuthzEntry = {
  key: 'k',
  route: 'default/mcp',
  paths: [{ type: 'PathPrefix', value: '/mcp' }],
  policy: { policy: 'default/token', source: 'p.yaml:1' },
  jwt: {
    mode: 'Strict',
    forwardToken: false,
    providers: [
      {
        issuer: 'https://idp.example',
        audiences: [],
        keySet: {
          state: 'unavailable',
          source: { type: 'remote', id: '1', url: 'https://idp.example/jwks' },
        },
      },
    ],
  },
  authorization: {
    deny: [],
    require: [],
    allow: ['true'],
    policies: [
      { policy: 'default/rules', source: 'p.yaml:9', action: 'Allow', rules: 1, scopes: 0 },
    ],
  },
}

const GUARD: GuardEntry = {
  type: 'guard',
  key: 'k',
  route: 'default/mcp',
  policy: { policy: 'default/guard', source: 'p.yaml:20' },
  request: [webhook('default/hook', 'FailClosed')],
  response: [webhook('default/hook', 'FailOpen')],
}

const facts = (policy: string, over: Partial<PolicyFacts> = {}): PolicyFacts => ({
  policy,
  source: 'p.yaml:1',
  routes: [],
  sets: [],
  isAudit: false,
  ...over,
})

test('a route is connected with all that is in force on it', () => {
  const policies = new Map([
    ['default/token', facts('default/token', { sets: ['token'] })],
    ['default/idle', facts('default/idle')],
  ])
  const ir: Ir = { ...EMPTY, authz: [AUTHZ], proc: [GUARD] }
  const [route, ...others] = atOnce(routeMap(ir, new Set(), policies))
  expect(others).toEqual([])
  expect(route?.policies.map(({ policy, sets }) => [policy, ...sets])).toEqual([
    ['default/token', 'token'],
    ['default/rules'],
    ['default/guard'],
  ])
  expect(route?.issuers).toEqual([
    { issuer: 'https://idp.example', keysUrl: 'https://idp.example/jwks' },
  ])
  expect(route?.webhooks).toEqual([
    { backend: 'default/hook', phases: ['request', 'response'], failsOpen: true },
  ])
})

test('policies of mode Audit, and those that target the route without being in force, are shown too', () => {
  const audit = { policy: { policy: 'default/try', source: 'p.yaml:3' } }
  const policies = new Map([
    ['default/try', facts('default/try', { isAudit: true })],
    ['default/broken', facts('default/broken', { routes: ['default/mcp'] })],
  ])
  const ir: Ir = { ...EMPTY, authz: [{ ...AUTHZ, audit }] }
  const [route] = atOnce(routeMap(ir, new Set(), policies))
  expect(route?.policies.map(({ policy, isAudit }) => [policy, isAudit])).toEqual([
    ['default/token', false],
    ['default/rules', false],
    ['default/try', true],
    ['default/broken', false],
  ])
})

test('an open route has no policies', () => {
  const [route] = atOnce(routeMap(EMPTY, new Set(['default/search']), new Map()))
  expect(route).toMatchObject({ name: 'default/search', isOpen: true, policies: [], issuers: [] })
})

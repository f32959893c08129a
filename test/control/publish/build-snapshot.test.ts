// Builds a snapshot from an Ir: what is reused, and what is rebuilt after a change.

import { describe, expect, test } from 'vitest'
import { buildSnapshot, type Snapshot } from '../../../src/control/publish/build-snapshot.js'
import type { AuthzEntry } from '../../../src/model/authz-entry.js'
import type { Destination } from '../../../src/model/destination.js'
import type { Ir } from '../../../src/model/ir.js'
import type { Route } from '../../../src/model/route.js'
import { LISTENER_TYPE, PUSH_ORDER } from '../../../src/xds/encode/type-urls.js'

const OPTIONS = {
  listenAddress: '127.0.0.1',
  trustedHops: 0,
  systemCaFile: '/ca.pem',
  accessLog: false,
}

const destination = (name: string, port: number): Destination => ({
  name,
  endpoints: { type: 'addresses', addresses: [{ ip: '127.0.0.1', port }] },
  protocol: 'http1',
})

const route = (name: string): Route => ({
  name,
  match: { path: { type: 'PathPrefix', value: `/${name}` }, headers: [], queryParams: [] },
  action: {
    type: 'forward',
    destinations: [{ destination: name, weight: 1 }],
    timeouts: {},
    replaceBackendCors: false,
    allowUpgrades: false,
  },
})

const gateway = (name: string, port: number, ...routes: readonly Route[]): Ir['gateways'][0] => ({
  namespace: 'default',
  name,
  listeners: [
    {
      name: `default/${name}/${port}`,
      port,
      chains: [
        {
          name: `default/${name}/${port}`,
          virtualHosts: [{ name: `${name}/*`, domains: ['*'], routes }],
        },
      ],
    },
  ],
})

const rule = (key: string, ...allow: readonly string[]): AuthzEntry => ({
  key,
  route: 'default/mcp',
  paths: [{ type: 'PathPrefix', value: '/mcp' }],
  authorization: { deny: [], require: [], allow },
})

const base: Ir = {
  gateways: [gateway('one', 8080, route('a')), gateway('two', 8081, route('b'))],
  destinations: [destination('a', 1), destination('b', 2)],
  certificates: [],
  authz: [rule('k', 'true')],
  proc: [],
}

const versions = ({ xds }: Snapshot, node: string): Record<string, readonly string[]> =>
  Object.fromEntries(
    PUSH_ORDER.map((type) => [
      type.slice(type.lastIndexOf('.') + 1),
      [...(xds.get(node)?.split.get(type)?.values() ?? [])].map(({ version }) => version),
    ]),
  )

describe('the revision', () => {
  test('is the same for the same content, whatever objects hold it', () => {
    const copy = structuredClone(base)
    expect(buildSnapshot(copy, OPTIONS).revision).toBe(buildSnapshot(base, OPTIONS).revision)
  })

  test.each<[string, Partial<Ir>]>([
    ['gateways', { gateways: [gateway('one', 8080, route('a'))] }],
    ['destinations', { destinations: [destination('a', 1), destination('b', 3)] }],
    ['certificates', { certificates: [{ name: 'c', certificateChain: '', privateKey: 'x' }] }],
    ['authz', { authz: [rule('k', 'false')] }],
    ['a key', { authz: [rule('l', 'true')] }],
  ])('differs when %s do', (_what, change) => {
    const changed = buildSnapshot({ ...base, ...change }, OPTIONS)
    expect(changed.revision).not.toBe(buildSnapshot(base, OPTIONS).revision)
  })

  test('equal to that of the snapshot in force gives back that snapshot', () => {
    const before = buildSnapshot(base, OPTIONS)
    expect(buildSnapshot(structuredClone(base), OPTIONS, before)).toBe(before)
  })
})

describe('one change', () => {
  test('encodes what it touches and takes over the rest', () => {
    const before = buildSnapshot(base, OPTIONS)
    const after = buildSnapshot(
      { ...base, gateways: [...base.gateways.slice(0, 1), gateway('two', 8081)] },
      OPTIONS,
      before,
    )
    const listener = (snapshot: Snapshot) =>
      snapshot.xds.get('default/one')?.split.get(LISTENER_TYPE)?.get('default/one/8080')
    expect(listener(after)).toBe(listener(before))
    expect(versions(after, 'default/one')).toEqual(versions(before, 'default/one'))
    expect(versions(after, 'default/two')).not.toEqual(versions(before, 'default/two'))
  })

  test('of an endpoint changes neither listeners, routes nor clusters', () => {
    const before = versions(buildSnapshot(base, OPTIONS), '*')
    const moved = { ...base, destinations: [destination('a', 9), destination('b', 2)] }
    const after = versions(buildSnapshot(moved, OPTIONS), '*')
    expect(after).toEqual({
      ...before,
      ClusterLoadAssignment: after['ClusterLoadAssignment'],
    })
    expect(after['ClusterLoadAssignment']).not.toEqual(before['ClusterLoadAssignment'])
  })
})

test('each Gateway is there by its name, and all of them under *', () => {
  const { xds } = buildSnapshot(base, OPTIONS)
  expect([...xds.keys()].sort()).toEqual(['*', 'default/one', 'default/two'])
  expect([...(xds.get('*')?.split.get(LISTENER_TYPE)?.keys() ?? [])]).toEqual([
    'default/one/8080',
    'default/two/8081',
  ])
})

test('rules that read other headers leave the listener and its connections as they are', () => {
  const reading = (name: string): Ir => ({
    ...base,
    authz: [rule('k', `request.headers["${name}"] == "a"`)],
  })
  const first = buildSnapshot(reading('x-a'), OPTIONS)
  const second = buildSnapshot(reading('x-b'), OPTIONS, first)
  expect(versions(second, '*')).toEqual(versions(first, '*'))
})

test('a resource that is none of the API of Envoy is an error, never a silent loss', () => {
  const odd = { ...route('a'), action: { ...route('a').action, timeouts: { requestMs: NaN } } }
  const ir = { ...base, gateways: [gateway('one', 8080, odd)] }
  expect(() => buildSnapshot(ir, OPTIONS)).toThrow(/a duration of NaN ms/)
})

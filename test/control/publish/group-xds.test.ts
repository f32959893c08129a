// Encoded resources in both forms: virtual hosts as separate resources, and within their route configuration.

import { describe, expect, test } from 'vitest'
import { createGroupXds } from '../../../src/control/publish/build-snapshot.js'
import { atOnce } from '../../../src/kit/turns.js'
import type { JsonObject } from '../../../src/model/json.js'
import {
  CLUSTER_TYPE,
  ROUTE_TYPE,
  shortType,
  VIRTUAL_HOST_TYPE,
} from '../../../src/xds/encode/type-urls.js'
import type { GatewaySnapshot, NodeSnapshot } from '../../../src/xds/server/snapshot-cache.js'
import { encodeJson, encodeRoutesJson } from '../../support/json-resources.js'

const CLUSTER = encodeJson({ '@type': CLUSTER_TYPE, name: 'c' })

const host = (name: string, cluster: string): JsonObject => ({
  name: `r/${name}`,
  domains: [name],
  routes: [{ match: { prefix: '/' }, route: { cluster } }],
})

const routes = (...hosts: readonly JsonObject[]): JsonObject => ({
  '@type': ROUTE_TYPE,
  name: 'r',
  virtual_hosts: hosts,
  ignore_port_in_host_matching: true,
})

function group(configuration: JsonObject, before?: GatewaySnapshot) {
  const none = { listeners: [], clusters: [CLUSTER], endpoints: [], secrets: [] }
  const previous = before && new Map([['*', before]])
  const resources = { ...none, routes: [encodeRoutesJson(configuration)] }
  const gateway = atOnce(createGroupXds()(new Map([['*', resources]]), previous)).get('*')
  if (gateway === undefined) throw new Error('nothing was encoded')
  return gateway
}

const all = (snapshot: NodeSnapshot) =>
  [...snapshot.values()].flatMap((resources) => [...resources.values()])

const described = (snapshot: NodeSnapshot) =>
  all(snapshot).map(({ typeUrl, name }) => `${shortType(typeUrl)} ${name}`)

const changes = (before: NodeSnapshot, after: NodeSnapshot) =>
  all(after)
    .filter(({ typeUrl, name, version }) => before.get(typeUrl)?.get(name)?.version !== version)
    .map(({ typeUrl, name }) => `${shortType(typeUrl)} ${name}`)

const before = group(routes(host('a.example', 'a'), host('b.example', 'b')))
const after = group(routes(host('a.example', 'a'), host('b.example', 'c')))

describe('split', () => {
  test('a change in a virtual host is a change of that virtual host', () => {
    expect(changes(before.split, after.split)).toEqual(['VirtualHost r/b.example'])
  })

  test('a new virtual host changes nothing else', () => {
    const more = group(routes(host('a.example', 'a'), host('b.example', 'b'), host('c', 'c')))
    expect(changes(before.split, more.split)).toEqual(['VirtualHost r/c'])
  })

  test('a route configuration is the same without virtual hosts, and has one that stands in', () => {
    const { split, whole } = group(routes())
    expect(changes(before.split, split)).toEqual(['VirtualHost r/no-routes.invalid'])
    expect(described(whole())).toEqual(['Cluster c', 'RouteConfiguration r'])
  })
})

describe('whole', () => {
  test('holds the virtual hosts, which are no resources', () => {
    expect(described(after.whole())).toEqual(['Cluster c', 'RouteConfiguration r'])
    expect(changes(before.whole(), after.whole())).toEqual(['RouteConfiguration r'])
  })

  test('is made once', () => {
    expect(after.whole()).toBe(after.whole())
  })
})

test('what has not changed is taken over from the snapshot before', () => {
  const next = group(routes(host('a.example', 'a'), host('b.example', 'c')), before)
  expect(next.split.get(CLUSTER_TYPE)).toBe(before.split.get(CLUSTER_TYPE))
  expect(next.split.get(VIRTUAL_HOST_TYPE)).not.toBe(before.split.get(VIRTUAL_HOST_TYPE))
})

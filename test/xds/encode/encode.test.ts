// Encodes messages to versioned bytes, assembled from previously encoded parts, and decodes them to readable text.

import { create, equals, type MessageInitShape, toBinary } from '@bufbuild/protobuf'
import { describe, expect, test } from 'vitest'
import { createChunker } from '../../../src/kit/incremental/chunked-list.js'
import { atOnce } from '../../../src/kit/turns.js'
import type { LbEndpoint } from '../../../src/wire/grpc/generated/envoy/config/endpoint/v3/endpoint_components_pb.js'
import {
  type ClusterLoadAssignment,
  ClusterLoadAssignmentSchema,
} from '../../../src/wire/grpc/generated/envoy/config/endpoint/v3/endpoint_pb.js'
import { FilterChainSchema } from '../../../src/wire/grpc/generated/envoy/config/listener/v3/listener_components_pb.js'
import { ListenerSchema } from '../../../src/wire/grpc/generated/envoy/config/listener/v3/listener_pb.js'
import {
  type Route,
  RouteSchema,
  type VirtualHost,
  VirtualHostSchema,
} from '../../../src/wire/grpc/generated/envoy/config/route/v3/route_components_pb.js'
import { RouteConfigurationSchema } from '../../../src/wire/grpc/generated/envoy/config/route/v3/route_pb.js'
import { encode, EncodeError } from '../../../src/xds/encode/encode.js'
import { encodeLoadAssignment } from '../../../src/xds/encode/encode-endpoints.js'
import { encodeFilterChain, encodeListener } from '../../../src/xds/encode/encode-listener.js'
import {
  createRoutesEncoder,
  type EncodedHost,
  type EncodedRoute,
  type EncodedRoutes,
  encodeRoute,
  withName,
} from '../../../src/xds/encode/encode-routes.js'
import { joinAll } from '../../../src/xds/encode/parts.js'
import { decode, resourceJson } from '../../../src/xds/encode/read.js'
import { ENDPOINT_TYPE, LISTENER_TYPE } from '../../../src/xds/encode/type-urls.js'
import {
  lbEndpoint,
  lbEndpointsOf,
  socketAddress,
} from '../../../src/xds/translator/load-assignment.js'
import { ADS_SOURCE, inlineString, typedConfig } from '../../../src/xds/translator/messages.js'

const { encodeHost: hostWork, encodeRoutes } = createRoutesEncoder()
const encodeHost = (...inputs: Parameters<typeof hostWork>): EncodedHost =>
  atOnce(hostWork(...inputs))

const listener = (more: MessageInitShape<typeof ListenerSchema> = {}) =>
  create(ListenerSchema, { name: 'default/gw/8080', ...(more as object) })

describe('a resource', () => {
  test('has the name and type of its message', () => {
    expect(encodeListener(listener(), [])).toMatchObject({
      name: 'default/gw/8080',
      typeUrl: LISTENER_TYPE,
    })
    const endpoints = atOnce(encodeLoadAssignment('c', []))
    expect(endpoints).toMatchObject({ name: 'c', typeUrl: ENDPOINT_TYPE })
  })

  test('of equal content has equal bytes and version, and of other content another version', () => {
    const one = encodeListener(listener({ statPrefix: 'a' }), [])
    const two = encodeListener(listener({ statPrefix: 'a' }), [])
    const other = encodeListener(listener({ statPrefix: 'b' }), [])
    expect(two.parts).toEqual(one.parts)
    expect(two.version).toBe(one.version)
    expect(other.version).not.toBe(one.version)
  })

  test('is refused without a name, or with a value that its field cannot have', () => {
    expect(() => encodeListener(listener({ name: '' }), [])).toThrow(
      new EncodeError('Listener "": a resource needs a name'),
    )
    expect(() => encodeListener(listener({ tcpBacklogSize: 1.5 }), [])).toThrow(
      /^Listener "default\/gw\/8080": .*1\.5/,
    )
  })

  test('reads as JSON with the field names of Envoy, what identifies it first', () => {
    const filters = [{ name: 'f', configType: typedConfig(RouteSchema, { name: 'inner' }) }]
    const chain = encodeFilterChain(create(FilterChainSchema, { filters }))
    const json = resourceJson(encodeListener(listener({ enableReusePort: false }), [chain]))
    expect(json).toEqual({
      '@type': LISTENER_TYPE,
      name: 'default/gw/8080',
      enable_reuse_port: false,
      filter_chains: [
        {
          filters: [
            {
              name: 'f',
              typed_config: {
                '@type': 'type.googleapis.com/envoy.config.route.v3.Route',
                name: 'inner',
              },
            },
          ],
        },
      ],
    })
    expect(Object.keys(json).slice(0, 2)).toEqual(['@type', 'name'])
  })
})

describe('the endpoints of a cluster', () => {
  const message = (...lbEndpoints: LbEndpoint[]): ClusterLoadAssignment =>
    create(ClusterLoadAssignmentSchema, {
      clusterName: 'c',
      endpoints: lbEndpoints.length === 0 ? [] : [{ lbEndpoints }],
    })
  const endpoint = (at: number): LbEndpoint =>
    lbEndpoint(socketAddress(`10.0.${at >> 8}.${at & 255}`, 8080))

  test('are those of one locality, whatever the parts', () => {
    const all = [...Array(5).keys()].map(endpoint)
    for (const parts of [[], [all], [all.slice(0, 2), all.slice(2)]]) {
      const encoded = atOnce(encodeLoadAssignment('c', parts))
      const whole = message(...parts.flat())
      expect(joinAll(encoded.parts)).toEqual(
        Buffer.from(toBinary(ClusterLoadAssignmentSchema, whole)),
      )
    }
  })

  test('are encoded part by part, with turns between them', () => {
    const addresses = [...Array(20_000).keys()].map((at) => ({
      ip: `10.0.${at >> 8}.${at & 255}`,
      port: 80,
    }))
    let [built, most] = [0, 0]
    const counted = function* (): Generator<LbEndpoint[]> {
      for (const part of lbEndpointsOf(addresses)) {
        built += part.length
        yield part
      }
    }
    const work = encodeLoadAssignment('c', counted())
    for (let isDone = false; !isDone;) {
      const before = built
      isDone = work.next().done === true
      most = Math.max(most, built - before)
    }
    expect([built, most]).toEqual([20_000, 256])
  })
})

describe('a route configuration', () => {
  const route = (prefix: string): Route =>
    create(RouteSchema, {
      name: prefix,
      match: { pathSpecifier: { case: 'prefix', value: prefix } },
      // Longer than what fits into one byte of a length.
      action: {
        case: 'directResponse',
        value: { status: 500, body: inlineString('x'.repeat(20_000)) },
      },
    })
  const host = (name: string, routes: Route[] = []): VirtualHost =>
    create(VirtualHostSchema, { name, domains: [name], routes })
  const own = create(RouteConfigurationSchema, { name: 'r', ignorePortInHostMatching: true })
  const vhds = { $typeName: 'envoy.config.route.v3.Vhds', configSource: ADS_SOURCE } as const
  const whole = (...virtualHosts: VirtualHost[]) => ({ ...own, virtualHosts })
  const chunksOf = createChunker<EncodedHost>(({ resource }) => resource.name)
  const encodeAll = (hosts: readonly VirtualHost[]): EncodedRoutes =>
    encodeRoutes(
      own,
      vhds,
      chunksOf(
        hosts.map((each) => encodeHost({ ...each, routes: [] }, each.routes.map(encodeRoute))),
      ),
    )

  test('is put together from what was encoded before', () => {
    const [a, b, c] = ['/a', '/b', '/c'].map(route) as [Route, Route, Route]
    const [ea, eb, ec] = [a, b, c].map(encodeRoute) as [EncodedRoute, EncodedRoute, EncodedRoute]
    const kept: EncodedHost = encodeHost(host('one'), [ea, eb])
    const before = encodeRoutes(own, vhds, [[kept, encodeHost(host('two'), [ec])]])
    const after = encodeRoutes(own, vhds, [
      [kept, encodeHost(host('two'), [ec, ea]), encodeHost(host('none'), [])],
    ])
    const messages = [
      [before, [host('one', [a, b]), host('two', [c])]],
      [after, [host('one', [a, b]), host('two', [c, a]), host('none')]],
    ] as const
    for (const [encoded, hosts] of messages) {
      const read = decode(RouteConfigurationSchema, encoded.whole())
      expect(equals(RouteConfigurationSchema, read, whole(...hosts))).toBe(true)
      const fresh = encodeAll(hosts)
      expect(joinAll(encoded.whole().parts)).toEqual(joinAll(fresh.whole().parts))
      expect(encoded.whole().version).toBe(fresh.whole().version)
    }
    expect(after.whole().version).not.toBe(before.whole().version)
    expect(after.split.version).toBe(before.split.version)
  })

  test('may have a route that is encoded once and named for each host', () => {
    const unnamed = encode(RouteSchema, { ...route('/'), name: '' }, '/')
    const [one, two] = ['one/é', 'two/'.padEnd(300, '-')].map((name) => withName(unnamed, name))
    for (const encoded of [one, two]) {
      const read = decode(RouteSchema, encoded as EncodedRoute)
      expect(equals(RouteSchema, read, { ...route('/'), name: encoded?.name ?? '' })).toBe(true)
    }
    expect(one?.version).not.toBe(two?.version)
    expect(one?.version).toBe(withName({ ...unnamed }, 'one/é').version)
  })

  test('without its virtual hosts says where to fetch them, even if there are none', () => {
    for (const hosts of [[host('one')], []]) {
      const read = decode(RouteConfigurationSchema, encodeAll(hosts).split)
      expect(equals(RouteConfigurationSchema, read, { ...own, vhds })).toBe(true)
    }
  })

  test('always has a virtual host to fetch: one without routes if there are none', () => {
    const some = encodeAll([host('one')])
    expect(some.fetched).toBe(some.hosts)
    const none = encodeAll([])
    expect(none.hosts).toEqual([])
    const [standIn] = none.fetched.flat()
    const read = decode(VirtualHostSchema, standIn?.resource ?? { parts: [], version: '' })
    const expected = create(VirtualHostSchema, {
      name: 'r/no-routes.invalid',
      domains: ['no-routes.invalid'],
    })
    expect(equals(VirtualHostSchema, read, expected)).toBe(true)
  })

  test('names its virtual hosts, which are resources too', () => {
    const [first] = encodeAll([host('one', [route('/a')])]).hosts.flat()
    const read = decode(VirtualHostSchema, first?.resource ?? { parts: [], version: '' })
    expect(equals(VirtualHostSchema, read, host('one', [route('/a')]))).toBe(true)
  })
})

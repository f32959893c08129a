// The self-check of translated resources: every contradiction that Envoy would ignore, or reject as a whole, throws.

import { create } from '@bufbuild/protobuf'
import { describe, expect, test } from 'vitest'
import { atOnce } from '../../../src/kit/turns.js'
import type { JsonObject } from '../../../src/model/json.js'
import {
  RouteSchema,
  VirtualHostSchema,
} from '../../../src/wire/grpc/generated/envoy/config/route/v3/route_components_pb.js'
import { RouteConfigurationSchema } from '../../../src/wire/grpc/generated/envoy/config/route/v3/route_pb.js'
import { encode, type EncodedResource } from '../../../src/xds/encode/encode.js'
import { createRoutesEncoder, withName } from '../../../src/xds/encode/encode-routes.js'
import { buildXds } from '../../../src/xds/translator/build-xds.js'
import { createXdsVerifier } from '../../../src/xds/translator/verify-xds.js'
import type { XdsResources } from '../../../src/xds/translator/xds-resources.js'
import { chain, destination, forward, ir, route } from '../../support/ir.js'
import { encodeJson, encodeRoutesJson, jsonOf } from '../../support/json-resources.js'

const verifyXds = createXdsVerifier()

const tls = (serverName: string) => ({ serverNames: [serverName], certificates: ['default/c'] })

function good(): XdsResources {
  const routes = [route('/mcp', forward('a'), { authz: 'default/mcp/0' }), route('/', forward('a'))]
  const resources = buildXds(
    ir({
      port: 443,
      chains: [chain('one', routes, tls('a.example')), chain('two', routes, tls('b.example'))],
      destinations: [destination('a', 80)],
      certificates: [{ name: 'default/c', certificateChain: 'c', privateKey: 'k' }],
    }),
    {
      listenAddress: '0.0.0.0',
      trustedHops: 0,
      systemCaFile: '/ca.pem',
      accessLog: false,
    },
  ).get('*')
  if (resources === undefined) throw new Error('nothing for *')
  return resources
}

/** The same with every text, as JSON, replaced. */
function changed(type: keyof XdsResources, from: string, to: string): XdsResources {
  const resources = good()
  const text = JSON.stringify(jsonOf(resources)[type])
  expect(text).toContain(from)
  const json = JSON.parse(text.replaceAll(from, to)) as JsonObject[]
  return type === 'routes'
    ? { ...resources, routes: json.map(encodeRoutesJson) }
    : { ...resources, [type]: json.map((each) => encodeJson(each)) }
}

const KEYED =
  '"check_settings":{"context_extensions":{"gatehouse.route":"default/mcp/0"},"disable_request_body_buffering":true}'
const PER_ROUTE =
  '"@type":"type.googleapis.com/envoy.extensions.filters.http.ext_authz.v3.ExtAuthzPerRoute"'

/** The same with two hosts that share one route, which says nothing to ext_authz. */
function withSharedRoute(): XdsResources {
  const { encodeHost, encodeRoutes } = createRoutesEncoder()
  const shared = encode(RouteSchema, create(RouteSchema, {}), 'shared')
  const hosts = ['one', 'two'].map((name) =>
    atOnce(encodeHost(create(VirtualHostSchema, { name }), [withName(shared, `${name}/shared`)])),
  )
  const resources = good()
  const routes = resources.routes.map(({ name }) =>
    encodeRoutes(create(RouteConfigurationSchema, { name }), undefined, [hosts]),
  )
  return { ...resources, routes }
}

describe('verifyXds', () => {
  test('accepts what the translation makes', () => {
    expect(() => {
      atOnce(verifyXds(good()))
    }).not.toThrow()
  })

  const keyed = `{${PER_ROUTE},${KEYED}}`
  const cases: readonly [string, XdsResources, RegExp][] = [
    [
      'a filter name that no listener has',
      changed('routes', '"envoy.filters.http.ext_authz"', '"envoy.filters.http.ext_auth"'),
      /configures the filter envoy\.filters\.http\.ext_auth, which/,
    ],
    [
      'a protected route without a key',
      changed('routes', '"gatehouse.route":"default/mcp/0"', '"gatehouse.route":""'),
      /\/mcp says nothing definite/,
    ],
    [
      'a route that says nothing to ext_authz',
      changed('routes', keyed, `{${PER_ROUTE}}`),
      /\/mcp says nothing definite/,
    ],
    [
      'a route that is neither public nor protected',
      changed('routes', keyed, `{${PER_ROUTE},"disabled":false}`),
      /\/mcp says nothing definite/,
    ],
    [
      'a route without words to ext_authz that hosts share, by the name that it has in each',
      withSharedRoute(),
      /one\/shared says nothing definite.* two\/shared says nothing definite/,
    ],
    ['a cluster that nothing defines', changed('routes', '"a"', '"b"'), /no cluster is called b/],
    [
      'a route configuration that nothing defines',
      changed('listeners', '"route_config_name":"one"', '"route_config_name":"three"'),
      /no route configuration is called three/,
    ],
    ['a secret that nothing defines', { ...good(), secrets: [] }, /no secret is called default\/c/],
    [
      'endpoints that nothing defines',
      { ...good(), endpoints: [] },
      /no load assignment is called a/,
    ],
    [
      'two filter chains with one server name',
      changed('listeners', '"b.example"', '"a.example"'),
      /two filter chains of default\/gw\/443 match a\.example/,
    ],
    [
      'two resources with one name',
      { ...good(), clusters: [...good().clusters, good().clusters[0] as EncodedResource] },
      /two resources are called a/,
    ],
  ]

  test.each(cases)('throws at %s', (_, resources, message) => {
    expect(() => {
      atOnce(verifyXds(resources))
    }).toThrow(message)
  })
})

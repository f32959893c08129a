import { fromBinary, toJson } from '@bufbuild/protobuf'
import { describe, expect, test } from 'vitest'
import { registry } from '../../../src/grpc/protos.js'
import type { JsonObject } from '../../../src/ir/json.js'
import { encodeMessage, encodeResource } from '../../../src/xds/encode/encode.js'
import { LISTENER_TYPE, ROUTE_TYPE } from '../../../src/xds/encode/type-urls.js'

const HCM =
  'type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager'

const listener = (hcm: JsonObject = {}): JsonObject => ({
  '@type': LISTENER_TYPE,
  name: 'default/gw/8080',
  address: { socket_address: { address: '127.0.0.1', port_value: 8080 } },
  filter_chains: [
    {
      filters: [
        {
          name: 'envoy.filters.network.http_connection_manager',
          typed_config: { '@type': HCM, stat_prefix: 'http', ...hcm },
        },
      ],
    },
  ],
})

const AT_HCM = 'filter_chains[0].filters[0].typed_config'

function decode(resource: { any: { typeUrl: string; value: Uint8Array } }): unknown {
  const schema = registry.getMessage(resource.any.typeUrl.slice('type.googleapis.com/'.length))
  if (schema === undefined) throw new Error('unknown type')
  return toJson(schema, fromBinary(schema, resource.any.value), {
    registry,
    useProtoFieldName: true,
  })
}

function fault(json: JsonObject): string {
  try {
    encodeResource(json)
  } catch (error) {
    return (error as Error).message
  }
  return 'accepted'
}

describe('encodeResource', () => {
  test('carries nested Any, maps, durations and wrappers over the wire', () => {
    const hcm = {
      stream_idle_timeout: '0s',
      use_remote_address: true,
      http_filters: [
        {
          name: 'authz',
          typed_config: {
            '@type': 'type.googleapis.com/envoy.extensions.filters.http.ext_authz.v3.ExtAuthz',
            grpc_service: { envoy_grpc: { cluster_name: 'c' }, timeout: '0.500s' },
          },
        },
      ],
      route_config: {
        name: 'r',
        virtual_hosts: [
          {
            name: 'v',
            domains: ['*'],
            typed_per_filter_config: {
              authz: {
                '@type':
                  'type.googleapis.com/envoy.extensions.filters.http.ext_authz.v3.ExtAuthzPerRoute',
                check_settings: { context_extensions: { b: '2', a: '1' } },
              },
            },
          },
        ],
      },
    }
    const resource = encodeResource(listener(hcm))
    expect(resource.name).toBe('default/gw/8080')
    expect(resource.typeUrl).toBe(LISTENER_TYPE)
    expect({ '@type': LISTENER_TYPE, ...(decode(resource) as object) }).toEqual(listener(hcm))
  })

  test('names an endpoint assignment by its cluster', () => {
    const typeUrl = 'type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment'
    expect(encodeResource({ cluster_name: 'c' }, typeUrl)).toMatchObject({ name: 'c', typeUrl })
  })

  test.each([
    ['a misspelt field', { stat_prefx: 'x' }, `${AT_HCM}.stat_prefx`],
    ['camelCase', { mergeSlashes: true }, `${AT_HCM}.mergeSlashes`],
    ['an enum value that does not exist', { codec_type: 'HTTP9' }, `${AT_HCM}.codec_type`],
    ['a duration without a unit', { drain_timeout: 5 }, `${AT_HCM}.drain_timeout`],
    ['null for a message', { rds: null }, `${AT_HCM}.rds`],
    ['a string for a number', { xff_num_trusted_hops: 'two' }, `${AT_HCM}.xff_num_trusted_hops`],
    [
      'an unknown @type',
      { http_filters: [{ name: 'f', typed_config: { '@type': 'type.googleapis.com/no.Such' } }] },
      `${AT_HCM}.http_filters[0].typed_config: unknown type "type.googleapis.com/no.Such"`,
    ],
    [
      'an Any without @type',
      { http_filters: [{ name: 'f', typed_config: { a: 1 } }] },
      `${AT_HCM}.http_filters[0].typed_config: an Any needs "@type"`,
    ],
    [
      'a fault in the Any of a map',
      {
        route_config: {
          virtual_hosts: [
            {
              name: 'v',
              typed_per_filter_config: {
                cors: {
                  '@type': 'type.googleapis.com/envoy.extensions.filters.http.cors.v3.CorsPolicy',
                  max_ages: '1',
                },
              },
            },
          ],
        },
      },
      `${AT_HCM}.route_config.virtual_hosts[0].typed_per_filter_config["cors"].max_ages`,
    ],
    [
      'two members of one oneof',
      { rds: { route_config_name: 'a' }, route_config: { name: 'a' } },
      AT_HCM,
    ],
  ])('refuses %s, with the resource and the path', (_, hcm: JsonObject, path) => {
    expect(fault(listener(hcm))).toContain(`Listener "default/gw/8080": ${path}`)
  })

  test('refuses a resource without a name or of an unknown type', () => {
    expect(fault({ '@type': ROUTE_TYPE })).toBe(
      'RouteConfiguration "": name: a resource needs a name',
    )
    expect(fault({ name: 'x' })).toContain('unknown type ""')
  })

  test('gives equal content equal bytes and version, and other content another version', () => {
    const one = encodeResource({ '@type': ROUTE_TYPE, name: 'r', metadata: metadata('a', 'b') })
    const two = encodeResource({ name: 'r', metadata: metadata('b', 'a') }, ROUTE_TYPE)
    const other = encodeResource({ '@type': ROUTE_TYPE, name: 'r', metadata: metadata('a', 'c') })
    expect(two.any.value).toEqual(one.any.value)
    expect(two.version).toBe(one.version)
    expect(other.version).not.toBe(one.version)
  })

  test('puts a route configuration together from what it has encoded before', () => {
    const host = (name: string, ...routes: JsonObject[]) => ({ name, domains: [name], routes })
    const route = (prefix: string) => ({
      name: prefix,
      match: { prefix },
      // Longer than what fits into one byte of a length.
      direct_response: { status: 500, body: { inline_string: 'x'.repeat(20_000) } },
    })
    const [a, b, c] = [route('/a'), route('/b'), route('/c')]
    const configuration = (...hosts: JsonObject[]): JsonObject => ({
      '@type': ROUTE_TYPE,
      name: 'r',
      virtual_hosts: hosts,
      ignore_port_in_host_matching: true,
    })
    const kept = host('one', a, b)
    const before = configuration(kept, host('two', c))
    const after = configuration(kept, host('two', c, a), host('none'))
    for (const json of [before, after]) {
      const known = encodeResource(json)
      const fresh = encodeResource(structuredClone(json))
      expect({ '@type': ROUTE_TYPE, ...(decode(known) as object) }).toEqual({
        ...json,
        virtual_hosts: (json['virtual_hosts'] as JsonObject[]).map(({ routes, ...own }) =>
          (routes as JsonObject[]).length === 0 ? own : { ...own, routes },
        ),
      })
      expect(known.any.value).toEqual(fresh.any.value)
      expect(known.version).toBe(fresh.version)
    }
    expect(encodeResource(after).version).not.toBe(encodeResource(before).version)
  })

  test('names the path of a fault in a route of a virtual host', () => {
    const routes: JsonObject[] = [{ match: { prefix: '/' } }, { match: { prefx: '/' } }]
    const json = { '@type': ROUTE_TYPE, name: 'r', virtual_hosts: [{ name: 'v', routes }] }
    expect(fault(json)).toContain('RouteConfiguration "r": virtual_hosts[0].routes[1].match.prefx')
    const hosts = { '@type': ROUTE_TYPE, name: 'r', virtual_hosts: [null] }
    expect(fault(hosts)).toContain('RouteConfiguration "r": virtual_hosts[0]')
  })

  test('encodes the same object once', () => {
    const json = listener()
    expect(encodeResource(json)).toBe(encodeResource(json))
  })
})

const metadata = (...keys: string[]): JsonObject => ({
  filter_metadata: Object.fromEntries(keys.map((key) => [key, { null_is_a_value: null, n: 1 }])),
})

describe('encodeMessage', () => {
  test('encodes messages that are no resources and says where one is wrong', () => {
    const bootstrap = 'type.googleapis.com/envoy.config.bootstrap.v3.Bootstrap'
    expect(encodeMessage(bootstrap, { node: { id: 'a' } }).length).toBeGreaterThan(0)
    expect(() => encodeMessage(bootstrap, { node: { ids: 'a' } })).toThrow('Bootstrap: node.ids')
  })
})

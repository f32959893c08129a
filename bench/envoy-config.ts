// One Envoy with a listener per variant, each with one route that Envoy answers itself: what differs is the filter.

import type { JsonObject } from '../src/ir/json.js'

const TYPE = 'type.googleapis.com/'
const HTTP_FILTERS = `${TYPE}envoy.extensions.filters.http`

export const VARIANTS = ['no filter', 'jwt_authn + rbac', 'no-op ext_authz', 'Gatehouse'] as const
export type Variant = (typeof VARIANTS)[number]

export interface EnvoyConfigOptions {
  readonly admin: number
  readonly ports: Readonly<Record<Variant, number>>
  readonly noop: string
  readonly gatehouse: string
  readonly issuer: string
  readonly audience: string
  readonly jwks: object
  readonly route: string
}

export function envoyConfig(options: EnvoyConfigOptions): JsonObject {
  const filters: Readonly<Record<Variant, readonly JsonObject[]>> = {
    'no filter': [],
    'jwt_authn + rbac': jwtAuthn(options),
    'no-op ext_authz': [extAuthz('noop')],
    Gatehouse: [extAuthz('gatehouse')],
  }
  return {
    admin: { address: socketAddress(options.admin) },
    static_resources: {
      listeners: VARIANTS.map((variant) =>
        listener(options.ports[variant], filters[variant], options.route),
      ),
      clusters: [cluster('noop', options.noop), cluster('gatehouse', options.gatehouse)],
    },
  }
}

const socketAddress = (port: number): JsonObject => ({
  socket_address: { address: '127.0.0.1', port_value: port },
})

function listener(port: number, filters: readonly JsonObject[], route: string): JsonObject {
  const router = {
    name: 'envoy.filters.http.router',
    typed_config: { '@type': `${HTTP_FILTERS}.router.v3.Router` },
  }
  const manager = {
    '@type': `${TYPE}envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager`,
    stat_prefix: 'bench',
    http_filters: [...filters, router],
    route_config: {
      virtual_hosts: [{ name: 'all', domains: ['*'], routes: [routeOf(filters, route)] }],
    },
  }
  return {
    name: String(port),
    address: socketAddress(port),
    filter_chains: [
      {
        filters: [{ name: 'envoy.filters.network.http_connection_manager', typed_config: manager }],
      },
    ],
  }
}

function routeOf(filters: readonly JsonObject[], route: string): JsonObject {
  const settings = {
    'envoy.filters.http.ext_authz': {
      '@type': `${HTTP_FILTERS}.ext_authz.v3.ExtAuthzPerRoute`,
      check_settings: { context_extensions: { 'gatehouse.route': route } },
    },
  }
  return {
    match: { path_separated_prefix: '/mcp' },
    direct_response: { status: 200, body: { inline_string: 'ok' } },
    ...(filters.some(({ name }) => name === 'envoy.filters.http.ext_authz') && {
      typed_per_filter_config: settings,
    }),
  }
}

/** As Gatehouse configures it. */
const extAuthz = (clusterName: string): JsonObject => ({
  name: 'envoy.filters.http.ext_authz',
  typed_config: {
    '@type': `${HTTP_FILTERS}.ext_authz.v3.ExtAuthz`,
    transport_api_version: 'V3',
    grpc_service: { envoy_grpc: { cluster_name: clusterName }, timeout: '2s' },
    status_on_error: { code: 'ServiceUnavailable' },
    encode_raw_headers: true,
    validate_mutations: true,
    allowed_headers: { patterns: [{ exact: 'authorization', ignore_case: true }] },
  },
})

function jwtAuthn({ issuer, audience, jwks }: EnvoyConfigOptions): readonly JsonObject[] {
  const provider = {
    issuer,
    audiences: [audience],
    local_jwks: { inline_string: JSON.stringify(jwks) },
    payload_in_metadata: 'jwt',
  }
  const member = {
    metadata_matcher: {
      filter: 'envoy.filters.http.jwt_authn',
      path: [{ key: 'jwt' }, { key: 'groups' }],
      value: { list_match: { one_of: { string_match: { exact: 'mcp-users' } } } },
    },
  }
  const policy = { permissions: [{ any: true }], principals: [{ sourced_metadata: member }] }
  return [
    {
      name: 'envoy.filters.http.jwt_authn',
      typed_config: {
        '@type': `${HTTP_FILTERS}.jwt_authn.v3.JwtAuthentication`,
        providers: { idp: provider },
        rules: [{ match: { prefix: '/' }, requires: { provider_name: 'idp' } }],
      },
    },
    {
      name: 'envoy.filters.http.rbac',
      typed_config: {
        '@type': `${HTTP_FILTERS}.rbac.v3.RBAC`,
        rules: { action: 'ALLOW', policies: { members: policy } },
      },
    },
  ]
}

function cluster(name: string, path: string): JsonObject {
  const http2 = {
    '@type': `${TYPE}envoy.extensions.upstreams.http.v3.HttpProtocolOptions`,
    explicit_http_config: { http2_protocol_options: {} },
  }
  return {
    name,
    connect_timeout: '1s',
    typed_extension_protocol_options: {
      'envoy.extensions.upstreams.http.v3.HttpProtocolOptions': http2,
    },
    load_assignment: {
      cluster_name: name,
      endpoints: [{ lb_endpoints: [{ endpoint: { address: { pipe: { path } } } }] }],
    },
  }
}

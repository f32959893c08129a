// Configuration of an Envoy with one listener per variant. Each has one route that Envoy answers itself; only the
// filters differ.

import type { JsonObject } from '../src/model/json.js'
import { grpcCluster, HTTP_FILTERS, listener, socketAddress } from './envoy-parts.js'

/** The variants that ask a server over ext_authz. */
const ASKING = [
  ...(['Go no-op', 'grpc-js no-op', 'OPA-Envoy'] as const),
  ...(['Gatehouse', 'Gatehouse with OTLP', 'Gatehouse with many tokens'] as const),
] as const
export const VARIANTS = ['no filter', 'jwt_authn + rbac', ...ASKING] as const
export type Variant = (typeof VARIANTS)[number]

/** Name of the variant's cluster. Servers also receive it as :authority, so it must not contain spaces. */
const clusterOf = (variant: Variant): string => variant.replaceAll(' ', '-')

export interface EnvoyConfigOptions {
  readonly admin: number
  readonly ports: Readonly<Record<Variant, number>>
  /** Socket paths of the servers. The listener of a server that is not running gets no requests. */
  readonly sockets: Readonly<Record<(typeof ASKING)[number], string>>
  readonly issuer: string
  readonly audience: string
  readonly jwks: object
  readonly route: string
}

export function envoyConfig(options: EnvoyConfigOptions): JsonObject {
  const filters: Readonly<Record<string, readonly JsonObject[]>> = {
    'no filter': [],
    'jwt_authn + rbac': jwtAuthn(options),
    ...Object.fromEntries(ASKING.map((variant) => [variant, [extAuthz(variant)]])),
  }
  return {
    admin: { address: socketAddress(options.admin) },
    static_resources: {
      listeners: VARIANTS.map((variant) => {
        const own = filters[variant] ?? []
        return listener(options.ports[variant], own, routeOf(own, options.route))
      }),
      clusters: ASKING.map((variant) => grpcCluster(clusterOf(variant), options.sockets[variant])),
    },
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

/** The ext_authz filter as Gatehouse configures it; OPA-Envoy gets headers in the form that its input has. */
const extAuthz = (variant: Variant): JsonObject => ({
  name: 'envoy.filters.http.ext_authz',
  typed_config: {
    '@type': `${HTTP_FILTERS}.ext_authz.v3.ExtAuthz`,
    transport_api_version: 'V3',
    grpc_service: { envoy_grpc: { cluster_name: clusterOf(variant) }, timeout: '2s' },
    status_on_error: { code: 'ServiceUnavailable' },
    encode_raw_headers: variant !== 'OPA-Envoy',
    validate_mutations: true,
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

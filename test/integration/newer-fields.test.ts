// Fields of proto/ that no packaged descriptors contain yet (test/wire/grpc/proto-subset.test.ts): a real Envoy knows them.

import { describe, expect, test } from 'vitest'
import { validateConfig } from '../../src/cli/run-envoy/validate.js'
import type { JsonObject } from '../../src/model/json.js'
import { BootstrapSchema } from '../../src/wire/grpc/generated/envoy/config/bootstrap/v3/bootstrap_pb.js'
import { envoyPath } from '../support/envoy.js'
import { messageOf } from '../support/json-resources.js'

const HTTP = 'type.googleapis.com/envoy.extensions.filters'
const SERVER = { envoy_grpc: { cluster_name: 'server' } }

const withFilter = (name: string, type: string, config: JsonObject): JsonObject => ({
  static_resources: {
    listeners: [
      {
        name: 'l',
        address: { socket_address: { address: '127.0.0.1', port_value: 0 } },
        filter_chains: [{ filters: [{ name: 'http', typed_config: manager(name, type, config) }] }],
      },
    ],
    clusters: [{ name: 'server', type: 'STATIC', load_assignment: { cluster_name: 'server' } }],
  },
})

const manager = (name: string, type: string, config: JsonObject): JsonObject => ({
  '@type': `${HTTP}.network.http_connection_manager.v3.HttpConnectionManager`,
  stat_prefix: 'h',
  route_config: { name: 'r' },
  http_filters: [
    { name, typed_config: { '@type': `${HTTP}.http.${type}`, grpc_service: SERVER, ...config } },
    { name: 'router', typed_config: { '@type': `${HTTP}.http.router.v3.Router` } },
  ],
})

describe('newer fields', () => {
  test.each([
    ['ext_authz', 'ext_authz.v3.ExtAuthz', 'shadow_mode'],
    ['ext_proc', 'ext_proc.v3.ExternalProcessor', 'allow_content_length_header'],
  ])('of %s: %s.%s', async (name, type, field) => {
    const config = withFilter(name, type, { [field]: true })
    expect(() => messageOf(BootstrapSchema, config)).not.toThrow()
    expect(await validateConfig(envoyPath(), config)).toEqual({ ok: true, value: undefined })
    const misspelt = withFilter(name, type, { [`${field}x`]: true })
    expect(await validateConfig(envoyPath(), misspelt)).toMatchObject({ ok: false })
  })
})

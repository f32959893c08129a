// Bootstraps for each way to reach Gatehouse. test/integration/accepted-bootstraps.test.ts shows them to an Envoy.

import { expect, test } from 'vitest'
import { MAX_CONCURRENT_STREAMS } from '../../../src/wire/http2/connection.js'
import { bootstrapJson, buildBootstrap } from '../../../src/xds/bootstrap/bootstrap.js'
import type { GatehouseConnection } from '../../../src/xds/bootstrap/gatehouse-clusters.js'

const bootstrap = (connection: GatehouseConnection, world = false) =>
  bootstrapJson(
    buildBootstrap({
      nodeCluster: 'default/gw',
      nodeId: 'envoy',
      connection,
      envoyAdmin: { type: 'tcp', host: '127.0.0.1', port: 0 },
      world,
    }),
  )

test.each<[string, GatehouseConnection, string]>([
  ['a socket', { address: { type: 'unix', path: '/run/gatehouse.sock' } }, '"pipe"'],
  ['an address', { address: { type: 'tcp', host: '10.0.0.1', port: 1 } }, '"STATIC"'],
  ['a name', { address: { type: 'tcp', host: 'gatehouse', port: 1 } }, '"STRICT_DNS"'],
])('leads to %s', (_, connection, sign) => {
  expect(JSON.stringify(bootstrap(connection))).toContain(sign)
})

test('mutual TLS names both certificates', () => {
  const config = bootstrap({
    address: { type: 'tcp', host: 'gatehouse.example', port: 1 },
    tls: {
      ca: { file: '/ca.pem' },
      serverName: 'gatehouse.example',
      clientCertificate: { certFile: '/cert.pem', keyFile: '/key.pem' },
    },
  })
  expect(JSON.stringify(config)).toMatch(/tls_certificates.*"exact":"gatehouse\.example"/)
})

test('names the Gateway that it serves, and uses the chosen variant of xDS', () => {
  const address = { type: 'unix', path: '/s' } as const
  expect(bootstrap({ address })).toMatchObject({
    node: { cluster: 'default/gw' },
    dynamic_resources: { ads_config: { api_type: 'DELTA_GRPC' } },
  })
  expect(bootstrap({ address }, true)).toMatchObject({
    dynamic_resources: { ads_config: { api_type: 'GRPC' } },
  })
})

test('allows as many streams as the gRPC server does', () => {
  const config = JSON.stringify(
    bootstrap({ address: { type: 'unix', path: '/run/gatehouse.sock' } }),
  )
  expect(config.split(`"max_concurrent_streams":${String(MAX_CONCURRENT_STREAMS)}`)).toHaveLength(4)
})

// Bootstraps for each way to reach Gatehouse, each accepted by a real Envoy.

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { findEnvoy } from '../../../src/envoy/find-envoy.js'
import { validateConfig } from '../../../src/envoy/validate.js'
import { MAX_CONCURRENT_STREAMS } from '../../../src/http2/connection.js'
import { bootstrapJson, buildBootstrap } from '../../../src/xds/bootstrap/bootstrap.js'
import type { GatehouseConnection } from '../../../src/xds/bootstrap/gatehouse-clusters.js'
import { selfSigned } from '../../support/certificates.js'
import { temporaryFolder } from '../../support/program.js'

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

async function tlsFiles() {
  const folder = await temporaryFolder()
  const { cert, key } = selfSigned('gatehouse.example')
  const [certFile, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  await Promise.all([writeFile(certFile, cert), writeFile(keyFile, key)])
  return {
    caFile: certFile,
    serverName: 'gatehouse.example',
    clientCertificate: { certFile, keyFile },
  }
}

test.each<[string, GatehouseConnection, string]>([
  ['a socket', { address: { type: 'unix', path: '/run/gatehouse.sock' } }, '"pipe"'],
  ['an address', { address: { type: 'tcp', host: '10.0.0.1', port: 1 } }, '"STATIC"'],
  ['a name', { address: { type: 'tcp', host: 'gatehouse', port: 1 } }, '"STRICT_DNS"'],
])(
  'leads to %s',
  async (_, connection, sign) => {
    const config = bootstrap(connection)
    expect(JSON.stringify(config)).toContain(sign)
    expect(await validateConfig(await findEnvoy(), config)).toEqual({ ok: true })
  },
  600_000,
)

test('mutual TLS names both certificates', async () => {
  const config = bootstrap({
    address: { type: 'tcp', host: 'gatehouse.example', port: 1 },
    tls: await tlsFiles(),
  })
  expect(JSON.stringify(config)).toMatch(/tls_certificates.*"exact":"gatehouse\.example"/)
  expect(await validateConfig(await findEnvoy(), config)).toEqual({ ok: true })
}, 600_000)

test('says which Gateway it serves, and asks in the way that was chosen', () => {
  const address = { type: 'unix', path: '/s' } as const
  expect(bootstrap({ address })).toMatchObject({
    node: { cluster: 'default/gw' },
    dynamic_resources: { ads_config: { api_type: 'DELTA_GRPC' } },
  })
  expect(bootstrap({ address }, true)).toMatchObject({
    dynamic_resources: { ads_config: { api_type: 'GRPC' } },
  })
})

test('says as many streams as our server allows', () => {
  const config = JSON.stringify(
    bootstrap({ address: { type: 'unix', path: '/run/gatehouse.sock' } }),
  )
  expect(config.split(`"max_concurrent_streams":${String(MAX_CONCURRENT_STREAMS)}`)).toHaveLength(4)
})

// A real Envoy accepts the bootstrap of each way to reach Gatehouse, and a static configuration with long patterns.

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { findEnvoy } from '../../src/cli/run-envoy/find-envoy.js'
import { validateConfig } from '../../src/cli/run-envoy/validate.js'
import { bootstrapJson, buildBootstrap } from '../../src/xds/bootstrap/bootstrap.js'
import type { GatehouseConnection } from '../../src/xds/bootstrap/gatehouse-clusters.js'
import { buildStaticConfig } from '../../src/xds/bootstrap/static-config.js'
import { selfSigned } from '../support/certificates.js'
import { chain, destination, forward, ir, route } from '../support/ir.js'
import { temporaryFolder } from '../support/program.js'

const envoyAdmin = { type: 'tcp', host: '127.0.0.1', port: 0 } as const

async function tlsFiles() {
  const folder = await temporaryFolder()
  const { cert, key } = selfSigned('gatehouse.example')
  const [certFile, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  await Promise.all([writeFile(certFile, cert), writeFile(keyFile, key)])
  return {
    ca: { file: certFile },
    serverName: 'gatehouse.example',
    clientCertificate: { certFile, keyFile },
  }
}

test.each<[string, () => Promise<GatehouseConnection> | GatehouseConnection]>([
  ['a socket', () => ({ address: { type: 'unix', path: '/run/gatehouse.sock' } })],
  ['an address', () => ({ address: { type: 'tcp', host: '10.0.0.1', port: 1 } })],
  ['a name', () => ({ address: { type: 'tcp', host: 'gatehouse', port: 1 } })],
  [
    'a name, with mutual TLS',
    async () => ({
      address: { type: 'tcp', host: 'gatehouse.example', port: 1 },
      tls: await tlsFiles(),
    }),
  ],
])('the bootstrap that leads to %s', async (_way, connection) => {
  const config = bootstrapJson(
    buildBootstrap({
      nodeCluster: 'default/gw',
      nodeId: 'envoy',
      connection: await connection(),
      envoyAdmin,
      world: false,
    }),
  )
  expect(await validateConfig(await findEnvoy(), config)).toEqual({ ok: true })
})

test('patterns as long as the translation accepts', async () => {
  const value = '[0-9a-f]{400}'
  const plain = route('/', forward('a'))
  const match = {
    ...plain.match,
    headers: [{ name: 'x-id', type: 'RegularExpression', value } as const],
  }
  const model = ir({
    port: 8080,
    chains: [chain('one', [{ ...plain, match }])],
    destinations: [destination('a', 80)],
  })
  const config = buildStaticConfig(model, {
    xds: {
      listenAddress: '0.0.0.0',
      trustedHops: 0,
      systemCaFile: '/ca.pem',
      accessLog: false,
    },
    connection: { address: { type: 'tcp', host: 'gatehouse', port: 18000 } },
    envoyAdmin,
    certificates: 'inline',
  })
  expect(await validateConfig(await findEnvoy(), bootstrapJson(config))).toEqual({ ok: true })
})

// The bootstraps of the Helm chart match the output of `gatehouse bootstrap`. UPDATE_GOLDEN=1 rewrites them.

import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { stringify } from 'yaml'
import { bootstrapJson, buildBootstrap } from '../../../src/xds/bootstrap/bootstrap.js'
import type { GatehouseConnection } from '../../../src/xds/bootstrap/gatehouse-clusters.js'

const FOLDER = resolve(import.meta.dirname, '../../../deploy/helm/gatehouse/files')
const CENTRAL = { type: 'tcp', host: 'gatehouse-host.invalid', port: 18_000 } as const
const MOUNTED = '/etc/gatehouse/tls'

/** NODE_CLUSTER and the two names are what the chart puts its own in the place of. */
test.each<[string, GatehouseConnection]>([
  ['sidecar', { address: { type: 'unix', path: '/run/gatehouse/gatehouse.sock' } }],
  ['central', { address: CENTRAL }],
  [
    'central-tls',
    {
      address: CENTRAL,
      tls: {
        ca: { file: `${MOUNTED}/ca.crt` },
        serverName: 'gatehouse-name.invalid',
        clientCertificate: { certFile: `${MOUNTED}/tls.crt`, keyFile: `${MOUNTED}/tls.key` },
      },
    },
  ],
])('the bootstrap of %s is fresh', (name, connection) => {
  const path = join(FOLDER, `bootstrap-${name}.yaml`)
  const bootstrap = buildBootstrap({
    nodeCluster: 'NODE_CLUSTER',
    nodeId: 'envoy',
    connection,
    envoyAdmin: { type: 'unix', path: '/run/envoy/admin.sock' },
  })
  const text = stringify(bootstrapJson(bootstrap), { lineWidth: 0, aliasDuplicateObjects: false })
  if (process.env['UPDATE_GOLDEN'] === '1') writeFileSync(path, text)
  expect(readFileSync(path, 'utf8')).toBe(text)
})

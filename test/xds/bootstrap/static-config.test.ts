// `gatehouse translate`'s configuration: nothing in it is left to an xDS server, and private keys only where asked.

import { expect, test } from 'vitest'
import type { Ir } from '../../../src/model/ir.js'
import type { JsonObject } from '../../../src/model/json.js'
import { bootstrapJson } from '../../../src/xds/bootstrap/bootstrap.js'
import {
  buildStaticConfig,
  type StaticConfigOptions,
} from '../../../src/xds/bootstrap/static-config.js'
import { chain, destination, forward, ir, route } from '../../support/ir.js'

const build = (model: Ir, certificates: StaticConfigOptions['certificates']): JsonObject =>
  bootstrapJson(
    buildStaticConfig(model, {
      xds: {
        listenAddress: '0.0.0.0',
        trustedHops: 0,
        systemCaFile: '/ca.pem',
        accessLog: false,
      },
      connection: { address: { type: 'tcp', host: 'gatehouse', port: 18000 } },
      envoyAdmin: { type: 'tcp', host: '127.0.0.1', port: 0 },
      certificates,
    }),
  )

function config(certificates: StaticConfigOptions['certificates']): string {
  const routes = [route('/mcp', forward('a'), { authz: 'default/mcp/0' })]
  const tls = { serverNames: [], certificates: ['default/c'] }
  const model = ir({
    port: 443,
    chains: [chain('one', routes, tls)],
    destinations: [destination('a', 80)],
    certificates: [{ name: 'default/c', certificateChain: 'CHAIN', privateKey: 'KEY' }],
  })
  return JSON.stringify(build(model, certificates))
}

test('nothing is left to an xDS server', () => {
  const text = config('inline')
  expect(text).not.toMatch(/"rds"|sds_config"|eds_|"ads"|gatehouse_xds/)
  expect(text).toContain('gatehouse_ext_authz')
  expect(text).toContain('gatehouse_ext_proc')
})

test('private keys are included only on request; otherwise files are named', () => {
  expect(config('inline')).toContain('"KEY"')
  const named = config({ folder: '/certs' })
  expect(named).not.toMatch(/KEY|CHAIN/)
  expect(named).toContain('"/certs/default.c.key"')
  expect(named).toContain('"/certs/default.c.crt"')
})

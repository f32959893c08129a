// What /config_dump shows of Envoy's resources: all of them, without potential secrets.

import { expect, test } from 'vitest'
import type { JsonObject } from '../../../src/model/json.js'
import { dumpText } from '../../../src/ops/admin/dump-text.js'
import { buildXds } from '../../../src/xds/translator/build-xds.js'
import { dumpXds } from '../../../src/xds/translator/dump-xds.js'
import { chain, destination, forward, ir, route } from '../../support/ir.js'

const OPTIONS = {
  listenAddress: '127.0.0.1',
  trustedHops: 0,
  systemCaFile: '/ca.pem',
  accessLog: false,
}

const SECRET = 's3cret'
const header = (name: string) => ({ name, value: SECRET })

const secretive = route('/', forward('a'), {
  match: {
    headers: [{ ...header('x-match'), type: 'Exact' }],
    queryParams: [{ ...header('token'), type: 'RegularExpression' }],
  },
  requestHeaders: { set: [header('x-set')], add: [header('x-add')], remove: [] },
  responseHeaders: { set: [header('x-back')], add: [], remove: [] },
})

const model = ir({
  port: 443,
  chains: [chain('one', [secretive], { serverNames: [], certificates: ['default/c'] })],
  destinations: [destination('a', 80)],
  certificates: [{ name: 'default/c', certificateChain: 'CHAIN', privateKey: SECRET }],
})

const dump = () =>
  JSON.parse([...dumpText(dumpXds(buildXds(model, OPTIONS)))].join('')) as JsonObject

test('private keys and values of headers and parameters are hidden, names are shown', () => {
  const text = JSON.stringify(dump())
  expect(text).not.toContain(SECRET)
  for (const shown of ['x-match', 'token', 'x-set', 'x-add', 'x-back', 'CHAIN'])
    expect(text).toContain(`"${shown}"`)
  expect(text.split('"[redacted]"').length).toBeGreaterThan(6)
})

test('every kind of every node is there', () => {
  expect(Object.keys(dump())).toEqual(['*', 'default/gw'])
  expect(dump()['*']).toMatchObject({
    listeners: [{ name: 'default/gw/443' }],
    routes: [{ name: 'one', virtual_hosts: [{ name: 'one/*' }] }],
    clusters: [{ name: 'a' }, {}, {}],
    endpoints: [{ cluster_name: 'a' }],
    secrets: [{ name: 'default/c' }],
  })
})

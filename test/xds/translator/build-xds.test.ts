// Memoised xDS: which results must not be mixed up, and which must be reused.

import { describe, expect, test } from 'vitest'
import { atOnce } from '../../../src/kit/turns.js'
import type { Ir } from '../../../src/model/ir.js'
import type { Route } from '../../../src/model/route.js'
import { buildXds, XdsBuilder } from '../../../src/xds/translator/build-xds.js'
import { jsonOf } from '../../support/json-resources.js'

const OPTIONS = {
  listenAddress: '127.0.0.1',
  trustedHops: 0,
  systemCaFile: '/ca.pem',
  accessLog: false,
}

const route: Route = {
  name: 'default/r/0/0',
  match: { path: { type: 'PathPrefix', value: '/' }, headers: [], queryParams: [] },
  action: { type: 'redirect', scheme: 'https', statusCode: 301 },
}

const irOf = (...hosts: string[]): Ir => ({
  gateways: [
    {
      namespace: 'default',
      name: 'gw',
      listeners: [
        {
          name: 'default/gw/8080',
          port: 8080,
          chains: [
            {
              name: 'default/gw/8080',
              virtualHosts: hosts.map((host) => ({ name: host, domains: [host], routes: [route] })),
            },
          ],
        },
      ],
    },
  ],
  destinations: [],
  certificates: [],
  authz: [],
  proc: [],
})

describe('the same route', () => {
  test('on two virtual hosts redirects to the host of each', () => {
    const xds = buildXds(irOf('a.example', 'b.example'), OPTIONS).get('*')
    const text = JSON.stringify(xds && jsonOf(xds).routes)
    expect(text).toContain('"host_redirect":"a.example"')
    expect(text).toContain('"host_redirect":"b.example"')
  })

  test('gives the same objects to one builder, and equal ones to another', () => {
    const [ir, builder] = [irOf('a.example'), new XdsBuilder(OPTIONS)]
    const first = atOnce(builder.build(ir)).get('*')
    const again = atOnce(builder.build({ ...ir, gateways: [...ir.gateways] })).get('*')
    const other = buildXds(ir, OPTIONS).get('*')
    expect(again).not.toBe(first)
    expect(again?.listeners[0]).toBe(first?.listeners[0])
    expect(again?.routes[0]).toBe(first?.routes[0])
    expect(other?.listeners[0]).not.toBe(first?.listeners[0])
    expect(other?.listeners[0]).toEqual(first?.listeners[0])
    expect(other?.routes[0]?.whole()).toEqual(first?.routes[0]?.whole())
  })

  test('with other settings gives another listener', () => {
    const ir = irOf('a.example')
    const first = buildXds(ir, OPTIONS).get('*')
    const other = buildXds(ir, { ...OPTIONS, trustedHops: 1 }).get('*')
    expect(other?.routes[0]?.split).toEqual(first?.routes[0]?.split)
    expect(other?.listeners[0]).not.toEqual(first?.listeners[0])
  })
})

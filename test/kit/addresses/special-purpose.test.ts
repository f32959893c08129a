// Each row of IANA's registries of special-purpose addresses (RFC 6890), as of October 2025: nothing in them is a public
// service, so a relay fetches no client's description there.

import { describe, expect, test } from 'vitest'
import { createAddressRules } from '../../../src/kit/addresses/address-rules.js'

/** Name, first address and last address. */
type Row = readonly [name: string, first: string, last: string]

/** https://www.iana.org/assignments/iana-ipv4-special-registry */
const IPV4: readonly Row[] = [
  ['"This network"', '0.0.0.0', '0.255.255.255'],
  ['"This host on this network"', '0.0.0.0', '0.0.0.0'],
  ['Private-Use', '10.0.0.0', '10.255.255.255'],
  ['Shared Address Space', '100.64.0.0', '100.127.255.255'],
  ['Loopback', '127.0.0.0', '127.255.255.255'],
  ['Link Local', '169.254.0.0', '169.254.255.255'],
  ['Private-Use', '172.16.0.0', '172.31.255.255'],
  ['IETF Protocol Assignments', '192.0.0.0', '192.0.0.255'],
  ['IPv4 Service Continuity Prefix', '192.0.0.0', '192.0.0.7'],
  ['IPv4 dummy address', '192.0.0.8', '192.0.0.8'],
  ['Port Control Protocol Anycast', '192.0.0.9', '192.0.0.9'],
  ['Traversal Using Relays around NAT Anycast', '192.0.0.10', '192.0.0.10'],
  ['NAT64/DNS64 Discovery', '192.0.0.170', '192.0.0.171'],
  ['Documentation (TEST-NET-1)', '192.0.2.0', '192.0.2.255'],
  ['AS112-v4', '192.31.196.0', '192.31.196.255'],
  ['AMT', '192.52.193.0', '192.52.193.255'],
  ['Deprecated (6to4 Relay Anycast)', '192.88.99.0', '192.88.99.255'],
  ['6a44-relay anycast address', '192.88.99.2', '192.88.99.2'],
  ['Private-Use', '192.168.0.0', '192.168.255.255'],
  ['Direct Delegation AS112 Service', '192.175.48.0', '192.175.48.255'],
  ['Benchmarking', '198.18.0.0', '198.19.255.255'],
  ['Documentation (TEST-NET-2)', '198.51.100.0', '198.51.100.255'],
  ['Documentation (TEST-NET-3)', '203.0.113.0', '203.0.113.255'],
  ['Reserved', '240.0.0.0', '255.255.255.255'],
  ['Limited Broadcast', '255.255.255.255', '255.255.255.255'],
]

const ONES = 'ffff:ffff:ffff:ffff'

/** https://www.iana.org/assignments/iana-ipv6-special-registry */
const IPV6: readonly Row[] = [
  ['Loopback Address', '::1', '::1'],
  ['Unspecified Address', '::', '::'],
  ['IPv4-mapped Address', '::ffff:0:0', '::ffff:255.255.255.255'],
  ['IPv4-IPv6 Translat. (local use)', '64:ff9b:1::', `64:ff9b:1:ffff:${ONES}`],
  ['Discard-Only Address Block', '100::', `100:0:0:0:${ONES}`],
  ['Dummy IPv6 Prefix', '100:0:0:1::', `100:0:0:1:${ONES}`],
  ['IETF Protocol Assignments', '2001::', `2001:1ff:ffff:ffff:${ONES}`],
  ['TEREDO', '2001::', `2001:0:ffff:ffff:${ONES}`],
  ['Port Control Protocol Anycast', '2001:1::1', '2001:1::1'],
  ['Traversal Using Relays around NAT Anycast', '2001:1::2', '2001:1::2'],
  ['DNS-SD Service Registration Protocol Anycast', '2001:1::3', '2001:1::3'],
  ['Benchmarking', '2001:2::', `2001:2:0:ffff:${ONES}`],
  ['AMT', '2001:3::', `2001:3:ffff:ffff:${ONES}`],
  ['AS112-v6', '2001:4:112::', `2001:4:112:ffff:${ONES}`],
  ['Deprecated (previously ORCHID)', '2001:10::', `2001:1f:ffff:ffff:${ONES}`],
  ['ORCHIDv2', '2001:20::', `2001:2f:ffff:ffff:${ONES}`],
  ['Drone Remote ID Protocol Entity Tags', '2001:30::', `2001:3f:ffff:ffff:${ONES}`],
  ['Documentation', '2001:db8::', `2001:db8:ffff:ffff:${ONES}`],
  ['6to4', '2002::', `2002:ffff:ffff:ffff:${ONES}`],
  ['Direct Delegation AS112 Service', '2620:4f:8000::', `2620:4f:8000:ffff:${ONES}`],
  ['Documentation', '3fff::', `3fff:fff:ffff:ffff:${ONES}`],
  ['Segment Routing (SRv6) SIDs', '5f00::', `5f00:ffff:ffff:ffff:${ONES}`],
  ['Unique-Local', 'fc00::', `fdff:ffff:ffff:ffff:${ONES}`],
  ['Link-Local Unicast', 'fe80::', `febf:ffff:ffff:ffff:${ONES}`],
]

const { refusalOf } = createAddressRules({ scope: 'public', own: new Set(), allowed: [] })

describe.each([
  ['IPv4', IPV4],
  ['IPv6', IPV6],
])('%s', (_family, rows) => {
  test.each(rows)('%s: %s to %s', (_name, first, last) => {
    for (const ip of [first, last]) expect(refusalOf(ip, 443), ip).toBeDefined()
  })
})

/** IPv4-IPv6 translation: a resolver with DNS64 names every host of IPv4 so. */
test('64:ff9b::/96 stands for the IPv4 address in it', () => {
  expect(refusalOf('64:ff9b::8.8.8.8', 443)).toBeUndefined()
  for (const [, first] of IPV4) expect(refusalOf(`64:ff9b::${first}`, 443), first).toBeDefined()
})

test.each([
  '1.0.0.0',
  '9.255.255.255',
  '11.0.0.0',
  '100.63.255.255',
  '100.128.0.0',
  '126.255.255.255',
  '128.0.0.0',
  '169.253.255.255',
  '169.255.0.0',
  '172.15.255.255',
  '172.32.0.0',
  '192.0.1.0',
  '192.0.3.0',
  '192.31.195.255',
  '192.31.197.0',
  '192.52.194.0',
  '192.88.98.255',
  '192.88.100.0',
  '192.167.255.255',
  '192.169.0.0',
  '192.175.49.0',
  '198.17.255.255',
  '198.20.0.0',
  '198.51.101.0',
  '203.0.114.0',
  '223.255.255.255',
  '2001:200::',
  '2001:db7:ffff::',
  '2001:db9::',
  '2003::',
  '2620:4f:7fff::',
  '2620:4f:8001::',
  '3ffe::',
  '3fff:1000::',
  '5eff::',
  '5f01::',
  '64:ff9b:2::',
  '100:0:0:2::',
  '101::',
])('%s, beside one of them, may be called', (ip) => {
  expect(refusalOf(ip, 443)).toBeUndefined()
})

test('private addresses stay what a backend may have', () => {
  const backends = createAddressRules({ scope: 'host', own: new Set(), allowed: [] })
  for (const ip of ['10.0.0.1', '192.88.99.1', '::ffff:10.0.0.1', '3fff::1', '2002:a00:1::'])
    expect(backends.refusalOf(ip, 443)).toBeUndefined()
})

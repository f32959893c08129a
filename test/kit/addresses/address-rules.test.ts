// Which addresses Gatehouse never connects to, in every notation (decisions 30 and 30a).

import { describe, expect, test } from 'vitest'
import {
  type AddressRuleOptions,
  createAddressRules,
} from '../../../src/kit/addresses/address-rules.js'

const rules = (options: Partial<AddressRuleOptions>) =>
  createAddressRules({ scope: 'host', own: new Set(), allowed: [], ...options })

const METADATA = [
  '169.254.169.254',
  '169.254.0.0',
  '169.254.255.255',
  '100.100.100.200',
  '168.63.129.16',
  '192.0.0.192',
  'fe80::1',
  'fe80::1%eth0',
  'febf:ffff::1',
  'fd00:ec2::254',
  'fd00:0ec2:0:0:0:0:0:254',
  'FD00:EC2::254',
  'fd00:ec2::23',
  'fd20:ce::254',
  '::ffff:169.254.169.254',
  '::ffff:a9fe:a9fe',
  '0:0:0:0:0:ffff:a9fe:a9fe',
  '::ffff:100.100.100.200',
  '::169.254.169.254',
  '::ffff:0:169.254.169.254',
  '64:ff9b::169.254.169.254',
  '64:ff9b:1::a9fe:a9fe',
  '64:ff9b:1:a9fe:a9:fe00::',
  '2002:a9fe:a9fe::1',
  '2001:0:a9fe:a9fe::',
  '2001::5601:5601',
  '2001:db8::5efe:169.254.169.254',
  '2001:db8::200:5efe:a9fe:a9fe',
]
const NO_ADDRESSES = [
  '',
  'localhost',
  '169.254.169.254.example',
  '[fe80::1]',
  '127.1',
  '0x7f000001',
]
const HOST = [
  '127.0.0.1',
  '127.255.255.255',
  '0.0.0.0',
  '0.1.2.3',
  '255.255.255.255',
  '224.0.0.1',
  '239.255.255.255',
  '::1',
  '0:0:0:0:0:0:0:1',
  '::1%lo',
  '::',
  '::127.0.0.1',
  '::ffff:127.0.0.1',
  '::FFFF:7f00:1',
  '::ffff:0.0.0.0',
  '::ffff:0:127.0.0.1',
  '64:ff9b::7f00:1',
  '64:ff9b::0.0.0.0',
  '64:ff9b:1::7f00:1',
  '64:ff9b:1:7f00:0:100::',
  '64:ff9b:1:7f:0:1::',
  '64:ff9b:1:0:7f:0:100::',
  '2002:7f00:1::',
  '2001:0:7f00:1::',
  '2001::80ff:fffe',
  '2001:db8::5efe:127.0.0.1',
  'ff02::1',
]
const OTHERS = [
  '10.0.0.1',
  '172.16.0.1',
  '192.168.1.1',
  '100.64.0.1',
  '169.253.255.255',
  '169.255.0.0',
  '100.100.100.201',
  '8.8.8.8',
  '240.0.0.1',
  'fd00:ec2::253',
  'fd00::1',
  'fec0::1',
  'fe7f::1',
  '2001:db8::1',
  '::ffff:10.0.0.1',
  '64:ff9b::10.0.0.1',
  '64:ff9b:1::a00:1',
  '2002:a00:1::a9fe:a9fe',
  '2001:db8::a9fe:a9fe',
]

describe('everywhere', () => {
  const { refusalOf } = rules({ scope: 'metadata' })
  test.each([...METADATA, ...NO_ADDRESSES])('%j is refused', (ip) =>
    expect(refusalOf(ip, 80)).toBeDefined(),
  )
  test.each([...HOST, ...OTHERS])('%j is not', (ip) => expect(refusalOf(ip, 80)).toBeUndefined())
})

describe('in a cluster', () => {
  const { refusalOf } = rules({})
  test.each([...METADATA, ...NO_ADDRESSES, ...HOST])('%j is refused', (ip) =>
    expect(refusalOf(ip, 80)).toBeDefined(),
  )
  test.each(OTHERS)('%j is not', (ip) => expect(refusalOf(ip, 80)).toBeUndefined())

  test.each([
    ['127.0.0.1', 'a loopback address'],
    ['0.0.0.0', 'an unspecified address'],
    ['169.254.169.254', 'a link-local address'],
    ['168.63.129.16', 'a cloud metadata address'],
    ['ff02::1', 'a multicast address'],
    ['255.255.255.255', 'the broadcast address'],
    ['::ffff:127.0.0.1', 'a loopback address'],
    ['127.1', 'not an IP address'],
  ])('%s is %s', (ip, why) => expect(refusalOf(ip, 80)).toBe(why))
})

describe("Gatehouse's own addresses", () => {
  const { refusalOf } = rules({ own: new Set(['10.0.0.5', 'fd00::5', 'no address']) })
  test.each([
    '10.0.0.5',
    '::ffff:10.0.0.5',
    '::ffff:a00:5',
    '::10.0.0.5',
    '::ffff:0:10.0.0.5',
    '64:ff9b::10.0.0.5',
    '64:ff9b:1::a00:5',
    '2002:a00:5::1',
    '2001:0:a00:5::1',
    '2001:db8::5efe:10.0.0.5',
    'fd00::5',
    'fd00:0::5',
    'fd00::5%eth0',
  ])('are refused: %s', (ip) => expect(refusalOf(ip, 80)).toBe("an address of Gatehouse's own"))
  test.each(['10.0.0.6', 'fd00::6', '64:ff9b::10.0.0.6'])('%s is another', (ip) =>
    expect(refusalOf(ip, 80)).toBeUndefined(),
  )
})

describe('exceptions', () => {
  const { refusalOf } = rules({
    own: new Set(['10.0.0.5']),
    allowed: [
      { network: '127.0.0.1', prefix: 32, port: 3001 },
      { network: '169.254.20.0', prefix: 24 },
      { network: '10.0.0.5', prefix: 32 },
      { network: '::1', prefix: 128 },
    ],
  })
  test.each([
    ['127.0.0.1', 3001],
    ['169.254.20.10', 80],
    ['10.0.0.5', 80],
    ['::1', 80],
  ])('%s port %i is allowed', (ip, port) => expect(refusalOf(ip, port)).toBeUndefined())
  test.each([
    ['127.0.0.1', 19000],
    ['127.0.0.2', 3001],
    ['169.254.21.10', 80],
    ['not an address', 3001],
  ])('%s port %i is not', (ip, port) => expect(refusalOf(ip, port)).toBeDefined())
})

describe('of the scope public', () => {
  const { refusalOf } = rules({ scope: 'public' })

  test.each([
    '10.0.0.1',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '100.64.0.1',
    '127.0.0.1',
    '0.0.0.0',
    '169.254.169.254',
    '192.0.0.8',
    '192.0.2.1',
    '198.18.0.1',
    '198.51.100.1',
    '203.0.113.1',
    '240.0.0.1',
    '224.0.0.1',
    '255.255.255.255',
    '::1',
    '::',
    'fc00::1',
    'fd12:3456::1',
    'fe80::1',
    'fec0::1',
    'ff02::1',
    '2001:db8::1',
    '100::1',
    '::ffff:10.0.0.1',
    '64:ff9b::c0a8:101',
    '2002:a00:1::',
    'not an address',
  ])('%s is refused', (ip) => {
    expect(refusalOf(ip, 443)).toBeDefined()
  })

  test.each(['1.1.1.1', '172.32.0.1', '100.128.0.1', '8.8.8.8', '2606:4700::1111', '2a00:1450::1'])(
    '%s may be called',
    (ip) => {
      expect(refusalOf(ip, 443)).toBeUndefined()
    },
  )

  test('private addresses are no business of the other scopes', () => {
    for (const scope of ['host', 'metadata'] as const)
      expect(rules({ scope }).refusalOf('10.0.0.1', 443)).toBeUndefined()
  })

  test('an exception is one', () => {
    const allowed = [{ network: '10.1.0.0', prefix: 16, port: 443 }]
    expect(rules({ scope: 'public', allowed }).refusalOf('10.1.2.3', 443)).toBeUndefined()
    expect(rules({ scope: 'public', allowed }).refusalOf('10.1.2.3', 80)).toBeDefined()
  })
})

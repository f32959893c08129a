// Which client addresses count as one network.

import { expect, test } from 'vitest'
import { networkOf } from '../../../src/kit/addresses/network-of.js'

test.each([
  ['203.0.113.7', '203.0.113'],
  ['::ffff:203.0.113.7', '203.0.113'],
  ['2001:db8:1:2::7', '20010db80001'],
  ['2001:db8:1:ffff:ffff::', '20010db80001'],
  ['fe80::1%eth0', 'fe8000000000'],
  ['', ''],
  ['/run/envoy.sock', ''],
])('%s is of %s', (address, network) => expect(networkOf(address)).toBe(network))

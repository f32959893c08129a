// How a backend's host is classified: an address in one of its notations, or a name to resolve.

import { describe, expect, test } from 'vitest'
import { readHost } from '../../../src/kit/addresses/host.js'

describe('a host that is an address by itself', () => {
  test.each([
    ['10.0.0.1', '10.0.0.1'],
    ['::ffff:127.0.0.1', '::ffff:127.0.0.1'],
    ['127.1', '127.0.0.1'],
    ['127.0.1', '127.0.0.1'],
    ['2130706433', '127.0.0.1'],
    ['0x7f000001', '127.0.0.1'],
    ['0X7F.1', '127.0.0.1'],
    ['0x7f.0.0.0x1', '127.0.0.1'],
    ['0177.0.0.1', '127.0.0.1'],
    ['017700000001', '127.0.0.1'],
    ['0', '0.0.0.0'],
    ['127.1.', '127.0.0.1'],
    ['169.16689638', '169.254.169.230'],
  ])('%s is %s', (text, ip) => expect(readHost(text)).toEqual({ type: 'addresses', ips: [ip] }))

  test.each(['localhost', 'LocalHost', 'localhost.', 'a.localhost', 'a.b.LOCALHOST.'])(
    '%s is loopback, and no name server is asked',
    (text) => expect(readHost(text)).toEqual({ type: 'addresses', ips: ['127.0.0.1', '::1'] }),
  )
})

test.each(['256.256.256.256', '1.2.3.4.5', 'a.1', '0x1g.0x', '09', '127.0.0.1.1', '99999999999'])(
  '%s is neither an address nor a name',
  (text) => expect(readHost(text)).toEqual({ type: 'invalid' }),
)

test.each([
  ['idp.example', 'idp.example'],
  ['IDP.Example.', 'idp.example'],
  ['localhost.example', 'localhost.example'],
  ['mylocalhost', 'mylocalhost'],
  ['127.0.0.1.nip.io', '127.0.0.1.nip.io'],
  ['0x7f.example', '0x7f.example'],
])('%s is the name %s', (text, name) => expect(readHost(text)).toEqual({ type: 'name', name }))

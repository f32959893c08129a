// Which addresses our own calls never go to, in every way to write them (decision 30).

import { describe, expect, test } from 'vitest'
import { isForbiddenAddress } from '../../src/remote/forbidden-address.js'

describe('forbidden', () => {
  test.each([
    '169.254.169.254',
    '169.254.0.0',
    '169.254.255.255',
    '100.100.100.200',
    'fe80::1',
    'fe80::1%eth0',
    'febf:ffff::1',
    'fd00:ec2::254',
    'fd00:0ec2:0:0:0:0:0:254',
    'FD00:EC2::254',
    '::ffff:169.254.169.254',
    '::ffff:a9fe:a9fe',
    '0:0:0:0:0:ffff:a9fe:a9fe',
    '::ffff:100.100.100.200',
    '::169.254.169.254',
    '::ffff:0:169.254.169.254',
    '64:ff9b::169.254.169.254',
    '64:ff9b:1::a9fe:a9fe',
    '2002:a9fe:a9fe::1',
    '',
    'localhost',
    '169.254.169.254.example',
    '[fe80::1]',
  ])('%j', (ip) => {
    expect(isForbiddenAddress(ip)).toBe(true)
  })
})

describe('allowed', () => {
  test.each([
    '127.0.0.1',
    '10.0.0.1',
    '192.168.1.1',
    '169.253.255.255',
    '169.255.0.0',
    '100.100.100.201',
    '8.8.8.8',
    '::1',
    '::',
    'fd00:ec2::253',
    'fd00::1',
    'fec0::1',
    'fe7f::1',
    '2001:db8::1',
    '::ffff:10.0.0.1',
    '64:ff9b::10.0.0.1',
    '2002:a00:1::a9fe:a9fe',
    '2001:db8::a9fe:a9fe',
  ])('%s', (ip) => {
    expect(isForbiddenAddress(ip)).toBe(false)
  })
})

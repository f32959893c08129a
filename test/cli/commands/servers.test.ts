// System errors when a server cannot start become one sentence with a remedy.

import { expect, test } from 'vitest'
import { startProblem } from '../../../src/cli/commands/servers.js'

test.each([
  [
    { code: 'EADDRINUSE', address: '127.0.0.1', port: 18001 },
    '127.0.0.1:18001 is in use by another process: stop it, or choose another address with --admin or --grpc',
  ],
  [
    { code: 'EADDRINUSE', address: '/run/g.sock' },
    '/run/g.sock is in use by another process: stop it, or choose another address with --admin or --grpc',
  ],
  [
    { code: 'EACCES', address: '/run/g.sock', port: -1 },
    'this user may not listen on /run/g.sock: choose another address with --admin or --grpc',
  ],
  [
    { code: 'EADDRNOTAVAIL', address: '192.0.2.1', port: 1 },
    '192.0.2.1:1 is not an address of this machine: choose another with --admin or --grpc',
  ],
  [
    { code: 'EACCES', address: '127.0.0.1', port: 80 },
    'this user may not listen on 127.0.0.1:80: choose another address with --admin or --grpc',
  ],
  [
    { code: 'ENOTFOUND', hostname: 'nowhere.invalid' },
    'nowhere.invalid is not a known host: choose another address with --admin or --grpc',
  ],
  [{}, 'something else'],
])('%j', (fields, sentence) => {
  expect(startProblem(Object.assign(new Error('something else'), fields))).toBe(sentence)
})

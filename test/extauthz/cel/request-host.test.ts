// The host that rules compare is the one that selects routes, in any spelling.

import { expect, test } from 'vitest'
import { run } from './helpers.js'

test.each([
  ['GW.Example', 'gw.example'],
  ['gw.example:8443', 'gw.example'],
  ['gw.example:', 'gw.example'],
  ['GW.example.', 'gw.example'],
  ['gw.example.:8443', 'gw.example'],
  ['10.0.0.1:80', '10.0.0.1'],
  ['[FD00::1]:80', '[fd00::1]'],
  ['[::1]', '[::1]'],
])('the host of %s is %s', (host, name) => {
  const request = { method: 'GET', host, scheme: 'http', pathAndQuery: '/', version: 'HTTP/1.1' }
  const attributes = { request: { ...request, headers: new Map() } }
  expect(run(`request.host == "${name}" && request.uri == "http://${host}/"`, attributes)).toBe(
    true,
  )
})

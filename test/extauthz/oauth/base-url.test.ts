// The gateway's own URL, from configuration or from an untrusted request (decision 9).

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { baseUrl, mcpUrl } from '../../../src/extauthz/oauth/base-url.js'
import { runs } from '../../support/runs.js'

const paths = { mcpPath: '/mcp' }

describe('the configured origin', () => {
  test('wins over whatever the request says', () => {
    const request = { scheme: 'http', authority: 'evil.example', forwardedProto: 'http' }
    expect(baseUrl({ ...paths, origin: 'https://gw.example' }, request)).toBe('https://gw.example')
  })
})

describe('the request without a configured origin', () => {
  test.each([
    ['http', 'gw.example', undefined, 'http://gw.example'],
    ['https', 'gw.example:8443', undefined, 'https://gw.example:8443'],
    ['http', '127.0.0.1:10000', undefined, 'http://127.0.0.1:10000'],
    ['http', '[::1]:10000', undefined, 'http://[::1]:10000'],
    ['http', '[2001:db8::1]', undefined, 'http://[2001:db8::1]'],
    ['http', 'a_b.internal', undefined, 'http://a_b.internal'],
    ['http', 'gw.example.', undefined, 'http://gw.example.'],
    ['http', 'gw.example', 'https', 'https://gw.example'],
    ['http', 'gw.example', ' HTTPS , http', 'https://gw.example'],
    ['http', 'gw.example', ' , https', 'https://gw.example'],
    // Not a scheme that anyone can reach us by: as if it were not there.
    ['https', 'gw.example', 'javascript', 'https://gw.example'],
    ['HTTPS', 'gw.example', '', 'https://gw.example'],
  ])('%s %s, X-Forwarded-Proto %s: %s', (scheme, authority, forwardedProto, expected) => {
    expect(baseUrl(paths, { scheme, authority, forwardedProto })).toBe(expected)
  })

  test.each([
    '',
    'user@gw.example',
    'user:secret@gw.example',
    'gw.example"',
    'gw.example, evil="',
    'gw.example\\',
    'gw example',
    'gw.example\r\nset-cookie: a',
    'gw.example/path',
    'gw.example?query',
    'gw.example#fragment',
    'gw.example:',
    'gw.example:port',
    'gw.example:65536',
    'gw.example:1:2',
    '::1',
    '[::1',
    '[::g]',
    '[]',
    '[1.2.3.4]',
    '1.2.3.999',
    'gw.exämple',
    '%67w.example',
    '-gw.example',
    'a'.repeat(300),
  ])('the authority %j is not published', (authority) => {
    expect(baseUrl(paths, { scheme: 'https', authority })).toBeUndefined()
  })

  test('a scheme that is not HTTP is not published', () => {
    expect(baseUrl(paths, { scheme: 'ftp', authority: 'gw.example' })).toBeUndefined()
  })

  test('whatever the authority, what is published parses back to it and holds nothing but scheme and authority', () => {
    const authority = fc.oneof(fc.string(), fc.webAuthority({ withPort: true, withUserInfo: true }))
    fc.assert(
      fc.property(authority, (text) => {
        const base = baseUrl(paths, { scheme: 'http', authority: text })
        // The next test shows what must be published.
        if (base === undefined) return
        const url = new URL(base)
        expect(`${url.username}${url.password}${url.search}${url.hash}`).toBe('')
        expect(url.pathname).toBe('/')
        expect(base).toBe(`http://${text}`)
        expect(base).toMatch(/^[\x21\x23-\x5b\x5d-\x7e]+$/)
      }),
      { numRuns: runs(2000) },
    )
  })

  test('each authority of a URL is published as it is, unless it names a user', () => {
    const authority = fc.webAuthority({ withPort: true, withIPv4: true, withIPv6: true })
    fc.assert(
      fc.property(authority, (text) => {
        expect(baseUrl(paths, { scheme: 'http', authority: text })).toBe(`http://${text}`)
      }),
      { numRuns: runs(2000) },
    )
  })
})

test('the MCP URL is the base and the path, without a slash of its own', () => {
  expect(mcpUrl('https://gw.example', { mcpPath: '/mcp' })).toBe('https://gw.example/mcp')
  expect(mcpUrl('https://gw.example', { mcpPath: '/mcp/' })).toBe('https://gw.example/mcp/')
  expect(mcpUrl('https://gw.example', { mcpPath: '' })).toBe('https://gw.example')
})

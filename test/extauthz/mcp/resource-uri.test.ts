// The one spelling of a resource's URI that rules judge: whatever a server's parser makes of another one is not judged.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isNormalResource } from '../../../src/extauthz/mcp/resource-uri.js'
import { runs } from '../../support/runs.js'

const isNormal = (resourceUri: string, resourceForm: 'uri' | 'template' = 'uri'): boolean =>
  isNormalResource({ resourceUri, resourceForm })

describe('a URI', () => {
  test.each([
    'file:///secret',
    'file:///secret/a%20b.txt?x=%2F#y',
    'file://server/share',
    'https://a.example/',
    'https://a.example/a//b/?q=a;b',
    'note://Title/Of/It',
    'urn:isbn:0451450523',
    'memo:a',
    'x:/a',
    'git+ssh://u@h:2222/a,b',
    'https://[::1]/',
  ])('%s is in its normal form', (uri) => {
    expect([isNormal(uri), isNormal(uri, 'template')]).toEqual([true, true])
  })

  test.each([
    ['a scheme in capitals', 'FILE:///secret'],
    ['one slash', 'file:/secret'],
    ['no slash', 'file:secret'],
    ['dots', 'file:///public/../secret'],
    ['one dot', 'file:///./secret'],
    ['dots at the end', 'file:///secret/..'],
    ['dots in escapes', 'file:///public/%2e%2e/secret'],
    ['dots in escapes of capitals', 'file:///public/%2E%2E/secret'],
    ['half of them in an escape', 'file:///public/.%2e/secret'],
    ['a tab', 'file:///sec\tret'],
    ['a line end', 'file:///secret\n'],
    ['a blank in front', ' file:///secret'],
    ['a blank in it', 'file:///a b'],
    ['backslashes', 'file:\\\\\\secret'],
    ['a backslash', 'file:///public\\..\\secret'],
    ['a backslash of a scheme of its own', 'note://public\\..\\secret'],
    ['its own host', 'file://localhost/secret'],
    ['its own port', 'https://a.example:443/'],
    ['no path', 'https://a.example'],
    ['a host in capitals', 'https://A.example/'],
    ['an address in another form', 'http://127.1/'],
    ['a host in escapes', 'https://%61.example/'],
    ['a host beyond ASCII', 'https://é.example/'],
    ['a character beyond ASCII', 'file:///é'],
    ['a letter in an escape', 'file:///%73ecret'],
    ['a digit in an escape', 'file:///a%31'],
    ['a tilde in an escape', 'note://a/%7Eb'],
    ['such an escape in a query', 'note://a/?%73=1'],
    ['an escape in small letters', 'file:///a%2fb'],
    ['an escape that is none', 'file:///a%2'],
    ['dots of a path without a slash', 'memo:a/../b'],
    ['dots of such a path alone', 'memo:..'],
    ['no scheme', '/secret'],
    ['a name', 'secret'],
    ['nothing', ''],
    ['an expression', 'file:///{name}'],
    ['an expression in a query', 'note://a/?{name}'],
  ])('with %s is not: %j', (_what, uri) => {
    expect(isNormal(uri)).toBe(false)
  })

  test('of any characters is as every parser of URLs writes it, or is not in its normal form', () => {
    const part = fc.constantFrom(
      'file:',
      'note:',
      'HTTP:',
      '//',
      '/',
      '\\',
      '.',
      '.',
      '%2e',
      '%2E',
      '%73',
      '%2F',
      'secret',
      'localhost',
      'é',
      '\t',
      ' ',
      '?',
      '#',
      '@',
      ':',
      '{',
      '}',
      '[',
      '|',
      '^',
      '"',
    )
    fc.assert(
      fc.property(fc.array(part, { maxLength: 8 }), (parts) => {
        const uri = parts.join('')
        if (!isNormal(uri)) return
        expect(new URL(uri).href).toBe(uri)
        // Decoded and encoded again, no other text comes out: there is no second spelling.
        expect(
          uri.replace(/%[\dA-F]{2}/g, (one) => encodeURIComponent(decodeURIComponent(one))),
        ).toBe(uri)
        expect(uri).not.toMatch(/[^!-~]|[\\{}|^"<>`]|%[\da-f]?[a-f]/)
        expect(uri.split(/[?#]/)[0]).not.toMatch(/\/\.\.?(?:\/|$)/)
      }),
      { numRuns: runs(20_000) },
    )
  })
})

describe('a template', () => {
  test.each([
    'file:///{+path}',
    'file:///public/{name}.txt',
    'https://a.example{/path}',
    'https://a.example/{?q,r}',
    'note://{Title}/%20{#part}',
    '{scheme}://a/b',
    'file:///{%73}/{FILE:\\}',
  ])('%s is in its normal form', (template) => {
    expect([isNormal(template, 'template'), isNormal(template)]).toEqual([true, false])
  })

  test.each([
    'FILE:///{name}',
    'file:/{name}',
    'file:///public/../{name}',
    'file:///%73ecret/{name}',
    'file://localhost/{name}',
    'file:///{name',
    'file:///name}',
    'file:///{{name}}',
    'https://a.example:443/{name}',
    '{+uri}',
  ])('%s is not', (template) => {
    expect(isNormal(template, 'template')).toBe(false)
  })
})

test('a call that names no resource has nothing to compare', () => {
  expect(isNormalResource({ resourceUri: '', resourceForm: 'none' })).toBe(true)
})

// Reads the request to explain from the command line or the admin address: an error is a sentence that never contains
// the token.

import { expect, test } from 'vitest'
import { readExplainRequest } from '../../../src/ops/explain/explain-request.js'
import { descriptionText, readDescription } from '../../../src/ops/explain/read-description.js'

const read = (request: string, more: object = {}) =>
  readExplainRequest({ request, headers: [], ...more })

test('the URL is taken as written: nothing is normalised', () => {
  expect(read('get https://H.example:8443/a/../b%2fc?x=1#y')).toEqual({
    ok: true,
    value: {
      method: 'GET',
      scheme: 'https',
      authority: 'H.example:8443',
      headers: [],
      target: '/a/../b%2fc?x=1',
      sourceAddress: '127.0.0.1',
    },
  })
  expect(read('GET http://h?x=1')).toMatchObject({ value: { target: '/?x=1' } })
  expect(read('GET http://[::1]:80')).toMatchObject({
    value: { authority: '[::1]:80', target: '/' },
  })
})

test.each([
  ['', 'METHOD URL'],
  ['https://h/', 'METHOD URL'],
  ['GET /mcp', 'METHOD URL'],
  ['GET ftp://h/', 'METHOD URL'],
  ['GET https://', 'METHOD URL'],
  ['GET https://user:s3cret@h/', 'user name'],
  ['GET https://h:99999/', 'is not a host'],
  ['GET https://a,b/', 'is not a host'],
  ['GET https://h/\u00e4', 'percent-encoded'],
])('%j is rejected', (request, expected) => {
  const result = read(request)
  expect(result.ok ? '' : result.error).toContain(expected)
  expect(result.ok ? '' : result.error).not.toContain('s3cret')
})

test('headers and tokens', () => {
  const headers = ['X-Team:  red ', 'x-empty:']
  expect(read('GET http://h/', { headers, token: ' Bearer abc\n' })).toMatchObject({
    value: {
      headers: [
        ['x-team', 'red'],
        ['x-empty', ''],
        ['authorization', 'Bearer abc'],
      ],
    },
  })
  for (const wrong of ['no colon s3cret', 'bad name: s3cret', 'x: s3cret\nq: 1']) {
    const result = read('GET http://h/', { headers: [wrong] })
    expect(result.ok ? '' : result.error).toContain('expected "Name: value"')
  }
  const result = read('GET http://h/', { token: 's3 cret' })
  expect(result).toEqual({ ok: false, error: expect.not.stringContaining('s3 cret') as string })
})

test('a description survives its way to the admin address', () => {
  const description = {
    request: 'POST http://h/',
    headers: ['a: b'],
    token: 't',
    listenerPort: 80,
    gateway: 'a/b',
    sourceAddress: '::1',
    body: Buffer.from([0, 255, 10]),
  }
  expect(readDescription(Buffer.from(descriptionText(description)))).toEqual({
    ok: true,
    value: description,
  })
})

test.each([
  ['', 'not a JSON object'],
  ['[]', 'not a JSON object'],
  ['{}', 'request: expected'],
  ['{"request":1}', 'request: expected'],
  ['{"request":"GET http://h/","headers":["a",1]}', 'headers: expected'],
  ['{"request":"GET http://h/","token":{"s3cret":1}}', 'token: expected'],
  ['{"request":"GET http://h/","listenerPort":"80"}', 'listenerPort: expected'],
  ['{"request":"GET http://h/","__proto__":{"token":"x"}}', ''],
])('of descriptions, %s', (text, expected) => {
  const result = readDescription(Buffer.from(text))
  if (expected === '') expect(result).toMatchObject({ ok: true, value: { token: undefined } })
  else expect(result.ok ? '' : result.error).toContain(expected)
  expect(JSON.stringify(result)).not.toContain('s3cret')
})

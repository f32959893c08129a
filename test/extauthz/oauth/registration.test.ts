// Converts a registration request into the reply that MCP clients accept (RFC 7591), and rejects invalid ones.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { answerRegistration } from '../../../src/extauthz/oauth/registration.js'

const NOW = 1_700_000_000_999
const register = (body: unknown) =>
  answerRegistration(
    'public-client',
    typeof body === 'string' ? Buffer.from(body) : Buffer.from(JSON.stringify(body)),
    NOW,
  )
const redirectUris = ['http://127.0.0.1:1234/callback']

test('the reply is whole, and holds what the client sent', () => {
  expect(register({ client_name: 'Client', redirect_uris: redirectUris })).toEqual({
    status: 201,
    body: {
      client_id: 'public-client',
      client_id_issued_at: 1_700_000_000,
      client_name: 'Client',
      redirect_uris: redirectUris,
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
    },
  })
})

test.each([undefined, null, '', 7])('a client_name of %j is not echoed', (name) => {
  const { status, body } = register({ client_name: name, redirect_uris: redirectUris })
  expect(status).toBe(201)
  expect(body).not.toHaveProperty('client_name')
})

test('unknown members are accepted, and neither they nor secrets come back', () => {
  const { status, body } = register({
    redirect_uris: redirectUris,
    client_id: 'mine',
    client_secret: 's',
    application_type: 'native',
    client_uri: null,
    token_endpoint_auth_method: 'client_secret_basic',
  })
  expect(status).toBe(201)
  expect(body.client_id).toBe('public-client')
  expect(body.token_endpoint_auth_method).toBe('none')
  for (const name of ['client_secret', 'application_type', 'client_uri'])
    expect(body).not.toHaveProperty(name)
})

describe('redirect URIs', () => {
  test.each([
    'https://client.example/cb?x=1',
    'http://localhost/cb',
    'http://[::1]:8/cb',
    'cursor://anysphere.cursor-retrieval/oauth/callback',
    'com.example.app:/oauth',
    'vscode://vscode.github-authentication/did-authenticate',
    'http://127.0.0.1:33418',
    'http://localhost',
    'http://localhost:33418/',
  ])('%s is accepted and echoed as sent', (uri) => {
    expect(register({ redirect_uris: [uri] }).body.redirect_uris).toEqual([uri])
  })

  test.each([
    ['missing', {}],
    ['null', { redirect_uris: null }],
    ['a string', { redirect_uris: 'https://client.example/cb' }],
    ['an empty list', { redirect_uris: [] }],
    ['an empty string', { redirect_uris: [''] }],
    ['relative', { redirect_uris: ['/callback'] }],
    ['without a scheme', { redirect_uris: ['client.example/cb'] }],
    ['with a fragment', { redirect_uris: ['https://client.example/cb#x'] }],
    ['with an empty fragment', { redirect_uris: ['https://client.example/cb#'] }],
    ['a number', { redirect_uris: [1] }],
    ['null in the list', { redirect_uris: [null] }],
    ['one bad among good', { redirect_uris: ['https://client.example/cb', 'x'] }],
    ['with a line break', { redirect_uris: ['https://client.example/\ncb'] }],
    ['a script', { redirect_uris: ['JavaScript:alert(1)'] }],
    ['data', { redirect_uris: ['data:text/html,x'] }],
    ['with a space', { redirect_uris: ['https://client.example/c b'] }],
    ['without a host', { redirect_uris: ['https://'] }],
    ['a file', { redirect_uris: ['file:///etc/passwd'] }],
    ['with a user', { redirect_uris: ['https://client.example@evil.example/cb'] }],
    ['with a backslash', { redirect_uris: ['https://evil.example\\@client.example/cb'] }],
    ...[
      'https:/client.example/cb',
      'https:client.example/cb',
      'https:///client.example/cb',
      'https://client.example',
      'https://client.example:443/cb',
      'https://Client.example/cb',
      'HTTPS://client.example/cb',
      'https://client.example/a/../cb',
      'http://127.1/cb',
      'https://client.example/%2e%2E/cb',
      'https://client.example/./cb',
      'http:/127.0.0.1/cb',
      'https://client.example./a/..',
      'https://0x7f.1/cb',
      'http://localhost:80/cb',
      'http://LOCALHOST/cb',
      'http://localhost:08080/cb',
      'http://localhost?x=1',
      'http:/cb',
      'App:/cb',
      'app:/a/../cb',
      'https://client.example/{id}',
      'https://client.%65xample/cb',
      'https://client.example:/cb',
    ].map((uri): [string, object] => [`not in its normal form: ${uri}`, { redirect_uris: [uri] }]),
    ['with letters beyond ASCII', { redirect_uris: ['https://clıent.example/cb'] }],
  ])('%s: 400', (_, body) => {
    const reply = register(body)
    expect(reply.status).toBe(400)
    expect(reply.body.error).toBe('invalid_redirect_uri')
    expect(typeof reply.body.error_description).toBe('string')
  })
})

describe('bodies that are no registration', () => {
  test.each(['', 'null', '[]', '"x"', '7', '{', '{"redirect_uris":', 'a=b'])('%j: 400', (body) => {
    const reply = register(body)
    expect(reply.status).toBe(400)
    expect(reply.body.error).toBe('invalid_client_metadata')
  })

  test('bytes that are not UTF-8: 400', () => {
    const body = Buffer.concat([
      Buffer.from('{"client_name":"'),
      Buffer.from([0xff]),
      Buffer.from('"}'),
    ])
    expect(answerRegistration('c', body, NOW).status).toBe(400)
  })

  test('64 KiB is the limit', () => {
    const fill = (bytes: number) => {
      const empty = JSON.stringify({ redirect_uris: redirectUris, pad: '' }).length
      return { redirect_uris: redirectUris, pad: 'x'.repeat(bytes - empty) }
    }
    expect(register(fill(64 * 1024)).status).toBe(201)
    expect(register(fill(64 * 1024 + 1)).status).toBe(413)
  })
})

test('whatever is sent, the reply has no null and no empty member', () => {
  const body = fc.record(
    { redirect_uris: fc.oneof(fc.array(fc.webUrl()), fc.jsonValue()), client_name: fc.jsonValue() },
    { requiredKeys: [] },
  )
  fc.assert(
    fc.property(fc.oneof(body, fc.jsonValue()), (sent) => {
      const reply = register(sent)
      expect([201, 400]).toContain(reply.status)
      for (const value of Object.values(reply.body))
        expect([null, '', []]).not.toContainEqual(value)
    }),
  )
})

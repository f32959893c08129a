// Registrations that are signed instead of stored, and client metadata documents.

import { describe, expect, test } from 'vitest'
import {
  documentClient,
  metadataUrl,
  openClientId,
  registerClient,
} from '../../../../src/addons/relay/oauth/client.js'
import type { JsonReply } from '../../../../src/extauthz/oauth/registration.js'
import type { Relay } from '../../../../src/model/relay.js'
import { key, relayOf, vaultOf } from './support.js'

const NOW = 1_800_000_000_000
const relay = relayOf({ redirectUris: ['loopback', 'https://app.example/cb', 'app:/cb'] })
const vault = vaultOf(relay)

const register = (body: object | string) =>
  registerClient(
    relay,
    vault,
    new TextEncoder().encode(typeof body === 'string' ? body : JSON.stringify(body)),
    NOW,
  )

const CLIENT = { client_name: 'Tester', redirect_uris: ['http://127.0.0.1:1/cb', 'app:/cb'] }

const idOf = ({ body }: JsonReply): string => body['client_id'] as string

describe('a registration', () => {
  test('is read from its client_id, in any process', () => {
    const reply = register({
      ...CLIENT,
      token_endpoint_auth_method: 'client_secret_basic',
      x: null,
    })
    expect(reply).toMatchObject({
      status: 201,
      body: { ...CLIENT, token_endpoint_auth_method: 'none', client_id_issued_at: NOW / 1000 },
    })
    const id = idOf(reply)
    expect(openClientId(id, relay, vaultOf(relay), NOW)).toEqual({
      id,
      name: 'Tester',
      redirectUris: CLIENT.redirect_uris,
    })
  })

  test('is a client of its own, also beside one that says the same at the same time', () => {
    const [one, other] = [idOf(register(CLIENT)), idOf(register(CLIENT))]
    expect(one).not.toBe(other)
    expect(openClientId(other, relay, vault, NOW)).toMatchObject({ name: 'Tester' })
  })

  test('has a name of 128 characters, whatever their size in memory', () => {
    const name = '\u{1F989}'.repeat(128)
    const id = idOf(register({ ...CLIENT, client_name: name }))
    expect(openClientId(id, relay, vault, NOW)).toMatchObject({ name })
    const document = { client_id: 'https://clients.example/a', client_name: name }
    const more = { redirect_uris: ['app:/cb'], token_endpoint_auth_method: 'none' }
    expect(documentClient(document.client_id, { ...document, ...more })).toMatchObject({ ok: true })
  })

  test.each<[string, object | string, string]>([
    ['no JSON', '{', 'invalid_client_metadata'],
    ['no redirect URI', { redirect_uris: [] }, 'invalid_redirect_uri'],
    ['nine redirect URIs', { redirect_uris: Array(9).fill('app:/cb') }, 'invalid_redirect_uri'],
    [
      'a redirect URI that is not allowed',
      { redirect_uris: ['https://evil.example/'] },
      'invalid_redirect_uri',
    ],
    ['a script', { redirect_uris: ['javascript:alert(1)'] }, 'invalid_redirect_uri'],
    ['a user', { redirect_uris: ['http://a@127.0.0.1/'] }, 'invalid_redirect_uri'],
    ['a fragment', { redirect_uris: ['app:/cb#a'] }, 'invalid_redirect_uri'],
    ['one slash', { redirect_uris: ['https:/app.example/cb'] }, 'invalid_redirect_uri'],
    ['a query', { redirect_uris: ['https://app.example/cb?x'] }, 'invalid_redirect_uri'],
    ['a long name', { ...CLIENT, client_name: 'n'.repeat(129) }, 'invalid_client_metadata'],
    [
      'a long name of large characters',
      { ...CLIENT, client_name: '\u{1F989}'.repeat(129) },
      'invalid_client_metadata',
    ],
    [
      'too much together',
      {
        redirect_uris: Array.from(
          { length: 8 },
          (_, at) => `http://localhost/${'a'.repeat(300)}${at}`,
        ),
      },
      'invalid_client_metadata',
    ],
  ])('with %s is refused in the form of RFC 7591', (_, body, error) => {
    expect(register(body)).toMatchObject({ status: 400, body: { error } })
  })

  test('larger than 64 KiB is 413', () => {
    expect(register('x'.repeat(65_537)).status).toBe(413)
  })
})

describe('a client_id is none', () => {
  const id = idOf(register(CLIENT))

  test('when its lifetime is over', () => {
    expect(openClientId(id, relay, vault, NOW + relay.clientLifetimeMs - 1)).toBeDefined()
    expect(openClientId(id, relay, vault, NOW + relay.clientLifetimeMs)).toBeUndefined()
  })

  test.each<[string, Partial<Relay>]>([
    ['under a retired key', { sealingKeys: [key()] }],
    ['of another policy', { policy: 'a/b' }],
  ])('%s', (_, change) => {
    expect(openClientId(id, relay, vaultOf({ ...relay, ...change }), NOW)).toBeUndefined()
  })

  test.each(['https:/app.example/cb', 'https://app.example:443/cb', 'app:/a/../cb'])(
    'with %s, which an earlier version has registered',
    (uri) => {
      const payload = (uris: readonly string[]): string =>
        Buffer.from(JSON.stringify({ u: uris, i: NOW / 1000 })).toString('base64url')
      const read = (text: string) =>
        openClientId(`gh1.${text}.${vault.sign('client', text)}`, relay, vault, NOW)
      expect(read(payload(['app:/cb']))).toBeDefined()
      expect(read(payload(['app:/cb', uri]))).toBeUndefined()
    },
  )

  test('when anything of it was changed', () => {
    const [prefix, payload = '', signature = ''] = id.split('.')
    const other = Buffer.from(
      JSON.stringify({ u: ['https://app.example/cb'], i: NOW / 1000 }),
    ).toString('base64url')
    for (const changed of [
      `${prefix}.${other}.${signature}`,
      `${prefix}.${payload}`,
      `${prefix}.${payload}.${signature}.`,
      `gh2.${payload}.${signature}`,
      id.slice(0, -2),
      '',
      'x',
    ])
      expect(openClientId(changed, relay, vault, NOW), changed).toBeUndefined()
  })
})

describe('the URL of a metadata document', () => {
  test.each([
    ['https://clients.example/a.json', 'clients.example'],
    ['https://clients.example:8443/a?b=c', 'clients.example:8443'],
  ])('%s has the host %s', (url, host) => {
    expect(metadataUrl(url)).toEqual({ url, host })
  })

  test.each([
    'http://clients.example/a.json',
    'https://clients.example',
    'https://clients.example/',
    'https://user@clients.example/a',
    'https://clients.example/a#b',
    'https://clients.example/a/../b',
    'https://clients.example/./b',
    'https://clients.example/%2e%2e/b',
    'https://clients.example:443/a',
    'https://CLIENTS.example/a',
    'https://0x7f.1/a',
    'https://clients.example/a b',
    'https://clients.example/\\a',
    `https://clients.example/${'a'.repeat(2048)}`,
  ])('%s is none', (url) => {
    expect(metadataUrl(url)).toBeUndefined()
  })
})

describe('a metadata document', () => {
  const url = 'https://clients.example/a.json'
  const document = {
    client_id: url,
    client_name: 'Tester',
    redirect_uris: ['http://127.0.0.1/cb'],
    token_endpoint_auth_method: 'none',
  }

  test('is a client, and another document another one', () => {
    const client = documentClient(url, document)
    const other = documentClient(url, { ...document, client_uri: 'https://clients.example' })
    expect(client).toMatchObject({ ok: true, value: { id: url, name: 'Tester' } })
    expect(client.ok && other.ok && client.value.documentHash === other.value.documentHash).toBe(
      false,
    )
  })

  test.each([
    ['of another URL', { client_id: 'https://clients.example/b.json' }],
    ['of a confidential client', { token_endpoint_auth_method: 'client_secret_basic' }],
    ['without a method', { token_endpoint_auth_method: null }],
    ['without redirect URIs', { redirect_uris: null }],
    ['with a script', { redirect_uris: ['javascript:alert(1)'] }],
    ['with one slash', { redirect_uris: ['https:/app.example/cb'] }],
    ['with an odd name', { client_name: { a: 1 } }],
  ])('%s is refused', (_, change) => {
    expect(documentClient(url, { ...document, ...change }).ok).toBe(false)
  })
})

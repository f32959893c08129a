// Valid and invalid authorization requests, and who is told about an error.

import { describe, expect, test } from 'vitest'
import {
  readAuthorizationRequest,
  trustedRedirect,
} from '../../../../src/addons/relay/oauth/authorization-request.js'
import { type Parameters, readParameters } from '../../../../src/addons/relay/oauth/parameters.js'
import { withParameters } from '../../../../src/addons/relay/oauth/redirect-uri.js'
import { relayOf } from './support.js'

const relay = relayOf({
  redirectUris: [
    'loopback',
    'https://app.example/cb',
    'https://app.example/below/*',
    'app.one:/cb',
  ],
})
const CHALLENGE = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'
const GOOD = {
  response_type: 'code',
  code_challenge: CHALLENGE,
  code_challenge_method: 'S256',
  scope: 'openid files:read openid',
  state: ' a+b&c=d ',
  resource: relay.resource,
  prompt: 'login consent',
  login_hint: 'alice',
  unknown: 'ignored',
}

function read(change: Readonly<Record<string, string | undefined>>) {
  const all = Object.entries({ ...GOOD, ...change })
  const parameters = new Map(
    all.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )
  return readAuthorizationRequest(relay, parameters, 'http://127.0.0.1/cb')
}

test('all that is allowed', () => {
  expect(read({})).toEqual({
    ok: true,
    value: {
      redirectUri: 'http://127.0.0.1/cb',
      challenge: CHALLENGE,
      scopes: ['files:read', 'openid'],
      state: ' a+b&c=d ',
      prompt: ['login', 'consent'],
      loginHint: 'alice',
    },
  })
})

test('without a scope: all but offline_access', () => {
  expect(read({ scope: undefined })).toMatchObject({ value: { scopes: ['files:read', 'openid'] } })
})

test.each([
  ['https://gw.example', 'https://gw.example/'],
  ['https://gw.example/', 'HTTPS://GW.example:443'],
  ['https://gw.example/mcp', 'https://gw.example/%6dcp'],
  ['https://gw.example/mcp', 'https://gw.example/a/../%6Dcp'],
  ['https://gw.example/%C3%A4', 'https://gw.example/%c3%a4'],
])('of the resource %s, which a client may write as %s', (resource, sent) => {
  const parameters = new Map(Object.entries({ ...GOOD, resource: sent }))
  expect(
    readAuthorizationRequest({ ...relay, resource }, parameters, 'http://127.0.0.1/cb'),
  ).toMatchObject({ ok: true })
})

/** Other resources than https://gw.example/mcp, though some parsers make the same of them. */
const OTHER_RESOURCES = [
  'https://gw.example/mcp/',
  'https://gw.example/MCP',
  'https://gw.example/mcp?',
  'mcp',
  'x:y',
  'http://gw.example/mcp',
  'https://gw.example:8443/mcp',
  'https://u@gw.example/mcp',
  'https://gw.example/mcp#',
  'https:/gw.example/mcp',
  'https:///gw.example/mcp',
  'https:\\\\gw.example/mcp',
  'https://gw.example\\mcp',
  ' https://gw.example/mcp',
  'https://gw.example/m\tcp',
  'https://gw.example/%2Fmcp',
  'https://gw.example%2fmcp',
]

test.each<[Readonly<Record<string, string | undefined>>, string]>([
  ...OTHER_RESOURCES.map((resource): [Readonly<Record<string, string>>, string] => [
    { resource },
    'invalid_target',
  ]),
  [{ response_type: 'token' }, 'unsupported_response_type'],
  [{ response_type: undefined }, 'invalid_request'],
  [{ code_challenge: undefined }, 'invalid_request'],
  [{ code_challenge: 'short' }, 'invalid_request'],
  [{ code_challenge_method: 'plain' }, 'invalid_request'],
  [{ code_challenge_method: undefined }, 'invalid_request'],
  [{ resource: `${relay.resource}/` }, 'invalid_target'],
  [{ scope: 'openid admin' }, 'invalid_scope'],
  [{ prompt: 'none login' }, 'invalid_request'],
  [{ prompt: 'create' }, 'invalid_request'],
  [{ state: 'ä'.repeat(513) }, 'invalid_request'],
  [{ state: new URLSearchParams('state=%ff').get('state') ?? '' }, 'invalid_request'],
  [{ login_hint: 'a'.repeat(321) }, 'invalid_request'],
  [{ request: 'jwt' }, 'request_not_supported'],
  [{ request_uri: 'https://a.example' }, 'request_uri_not_supported'],
  [{ response_mode: 'fragment' }, 'invalid_request'],
  [{ claims: '{}' }, 'invalid_request'],
])('%j is %s', (change, error) => {
  // RFC 6749 section 4.1.2.1 has the characters of error_description.
  const description = expect.stringMatching(/^[\x20\x21\x23-\x5b\x5d-\x7e]+$/) as string
  expect(read(change)).toMatchObject({ ok: false, error: { error, description } })
})

/** Below a pattern by its text, and somewhere else for some servers. */
const LED_OUT = [
  'https://app.example/below/..%2Fother',
  'https://app.example/below/%2e%2e%2fother',
  'https://app.example/below/..%5cother',
  'https://app.example/below/..%252fother',
  'https://app.example/below/..;/other',
]

/** What was registered before URIs had to be in their normal form, and what the operator's patterns do not name. */
const ODD = [
  'https:/app.example/cb',
  'https:app.example/cb',
  'https://app.example:443/cb',
  'https://app.example/below/../cb',
  'https://app.example/cb?code=other',
  'http:/127.0.0.1/cb',
  'http://127.0.0.1:80/cb',
]

describe('a redirect URI', () => {
  const registered = [
    'http://127.0.0.1:1/cb',
    'http://[::1]/cb?a=b',
    'https://app.example/cb',
    'https://app.example/below/a',
    'https://app.example/below/a?x=1',
    'https://app.example/other',
    ...LED_OUT,
    'app.one:/cb',
    'app.two:/cb',
    ...ODD,
  ]
  const trusted = (uri: string) =>
    trustedRedirect(relay, { id: 'x', redirectUris: registered }, new Map([['redirect_uri', uri]]))
      .ok

  test.each([
    'http://127.0.0.1:1/cb',
    'http://127.0.0.1:65535/cb',
    'http://127.0.0.1/cb',
    'http://[::1]:8/cb?a=b',
    'https://app.example/cb',
    'https://app.example/below/a',
    'https://app.example/below/a?x=1',
    'app.one:/cb',
  ])('%s is one', (uri) => expect(trusted(uri)).toBe(true))

  test.each([
    'http://127.0.0.1:1/cb/',
    'http://127.0.0.1:1/CB',
    'http://localhost:1/cb',
    'http://127.0.0.2:1/cb',
    'https://127.0.0.1:1/cb',
    'http://127.0.0.1:1@evil.example/cb',
    'http://127.0.0.1:1/cb#x',
    'http://127.0.0.1:1/cb?x',
    'https://app.example:8443/cb',
    'https://app.example/cb?x',
    'https://app.example/other',
    'https://app.example/below/../other',
    ...LED_OUT,
    ...ODD,
    'app.two:/cb',
    'javascript:alert(1)',
    '',
  ])('%s is none', (uri) => expect(trusted(uri)).toBe(false))
})

test('parameters that are there twice are named, and those without a value are absent', () => {
  expect(readParameters('a=1&b=2&a=3&c=')).toEqual({ repeated: 'a', others: new Map([['b', '2']]) })
  expect(readParameters('a=&a=1')).toMatchObject({ repeated: 'a' })
  expect(readParameters('a=1+2&b=%20&c=')).toEqual(
    new Map([
      ['a', '1 2'],
      ['b', ' '],
    ]),
  )
  expect(readParameters('&'.repeat(10))).toEqual(new Map())
  expect(readParameters('a&'.repeat(32_768))).toMatchObject({ repeated: '' })
  const many = Array.from({ length: 64 }, (_, at) => `p${at}=1`).join('&')
  expect([...(readParameters(many) as Parameters).keys()]).toHaveLength(64)
  expect(readParameters(Array.from({ length: 65 }, (_, at) => `p${at}=1`).join('&'))).toMatchObject(
    {
      repeated: '',
    },
  )
})

test('what is added to a redirect URI keeps the query that it has', () => {
  const added: [string, string][] = [['state', 'a b&c']]
  expect(withParameters('app:/cb', added)).toBe('app:/cb?state=a+b%26c')
  expect(withParameters('app:/cb?x=y', added)).toBe('app:/cb?x=y&state=a+b%26c')
  expect(withParameters('app:/cb?', added)).toBe('app:/cb?state=a+b%26c')
})

test('a thousand scopes that are allowed are read once for a request, not for each that it asks for', () => {
  const allowed = Array.from({ length: 1000 }, (_, index) => `scope-${index}`)
  let reads = 0
  const counted = new Proxy(allowed, {
    get: (target, name): unknown => {
      reads += 1
      return Reflect.get(target, name)
    },
  })
  const asked = new Map(Object.entries({ ...GOOD, scope: allowed.join(' ') }))
  const of = { ...relay, scopes: counted }
  expect(readAuthorizationRequest(of, asked, 'http://127.0.0.1/cb').ok).toBe(true)
  expect(reads).toBeLessThan(10_000)
})

// Both identity providers as a client sees them: discovery, login, the token's claims, registration.

import { createHash, randomBytes } from 'node:crypto'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type IdentityProvider,
  startIdentityProvider,
} from '../../../src/cli/demo/identity-provider.js'
import { logIn, visit } from '../../../src/cli/demo/idp/headless-login.js'

const users = [
  { name: 'alice', groups: ['mcp-users', 'staff'] },
  { name: 'bob', groups: ['staff'] },
]
const clientId = 'gw-public-client'
const resource = 'http://127.0.0.1:39200/mcp'

let one: IdentityProvider
let two: IdentityProvider

beforeAll(async () => {
  one = await startIdentityProvider({
    shape: { type: 'IdpOne', slug: 'mcp-app' },
    users,
    clientId,
    serviceAccount: { clientId: 'robot', secret: 'robot-secret' },
  })
  two = await startIdentityProvider({
    shape: { type: 'IdpTwo', project: 'P2', server: 'MS2', managementKey: 'K' },
    users,
    clientId,
  })
})

afterAll(async () => {
  await one.close()
  await two.close()
})

interface Discovery {
  [field: string]: unknown
  authorization_endpoint: string
  token_endpoint: string
  jwks_uri: string
}

async function discover(idp: IdentityProvider): Promise<Discovery> {
  const url = `${idp.issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
  return (await (await fetch(url)).json()) as Discovery
}

async function tokenOf(idp: IdentityProvider, user: string) {
  const document = await discover(idp)
  const token = await logIn({
    authorizationEndpoint: document.authorization_endpoint,
    tokenEndpoint: document.token_endpoint,
    clientId,
    redirectUri: 'http://localhost:33418/any/path',
    scope: 'openid profile email',
    resource,
    user,
  })
  const keys = createRemoteJWKSet(new URL(idp.origin + idp.jwksPath))
  return await jwtVerify(token, keys, { issuer: idp.issuer })
}

describe('IdpOne', () => {
  test('has an issuer that ends in a slash, keys at jwks/ and no registration', async () => {
    const document = await discover(one)
    expect(one.issuer).toBe(`${one.origin}/application/o/mcp-app/`)
    expect(document).toMatchObject({
      issuer: one.issuer,
      jwks_uri: `${one.issuer}jwks/`,
      authorization_endpoint: `${one.issuer}auth`,
    })
    expect(document).not.toHaveProperty('registration_endpoint')
    expect(document).not.toHaveProperty('authorization_response_iss_parameter_supported')
  })

  test('gives tokens whose audience is the client, with groups and the user name', async () => {
    const { payload } = await tokenOf(one, 'alice')
    expect(payload).toMatchObject({
      sub: 'alice',
      aud: clientId,
      groups: ['mcp-users', 'staff'],
    })
    expect((await tokenOf(one, 'bob')).payload).toMatchObject({ sub: 'bob', groups: ['staff'] })
  })

  test('gives a service account a token without groups', async () => {
    const { token_endpoint } = await discover(one)
    const body = new URLSearchParams({ grant_type: 'client_credentials', resource })
    const authorization = `Basic ${Buffer.from('robot:robot-secret').toString('base64')}`
    const answer = await fetch(token_endpoint, { method: 'POST', body, headers: { authorization } })
    const { access_token } = (await answer.json()) as { access_token: string }
    const keys = createRemoteJWKSet(new URL(one.origin + one.jwksPath))
    expect((await jwtVerify(access_token, keys)).payload).toMatchObject({ groups: [] })
  })

  test('sends no iss with the code', async () => {
    const callback = await visit(await authorization(one, { login_hint: 'alice' }))
    expect(callback.searchParams.has('code')).toBe(true)
    expect(callback.searchParams.has('iss')).toBe(false)
  })

  test('refuses redirect URIs that are not on loopback', async () => {
    const redirect_uri = 'http://127.0.0.1.evil.example/cb'
    const answer = await fetch(await authorization(one, { login_hint: 'alice', redirect_uri }))
    expect(answer.status).toBe(400)
    expect(await answer.text()).toContain('invalid_redirect_uri')
  })
})

describe('the login page', () => {
  test('lets a person pick a user, also a second time as another user', async () => {
    const browser = new Map<string, string>()
    for (const user of ['alice', 'bob']) {
      const page = await browse(browser, (await authorization(one, {})).href)
      expect(page.body).toContain('Who are you?')
      expect(page.body).toContain('mcp-users, staff')
      const form = new URLSearchParams({ user })
      const end = await browse(browser, page.url, form)
      expect(new URL(end.url).searchParams.get('code')).not.toBeNull()
    }
  })

  test('can be left by Cancel', async () => {
    const browser = new Map<string, string>()
    const page = await browse(browser, (await authorization(one, {})).href)
    const end = await browse(browser, page.url, new URLSearchParams({ cancel: '1' }))
    expect(new URL(end.url).searchParams.get('error')).toBe('access_denied')
  })

  test('says so when the login is over', async () => {
    const answer = await fetch(`${one.issuer}interaction/none`)
    expect(answer.status).toBe(400)
    expect(await answer.text()).toContain('start again')
  })
})

describe('IdpTwo', () => {
  test('publishes keys per project and a registration endpoint', async () => {
    expect(two.issuer).toBe(`${two.origin}/v1/apps/agentic/P2/MS2`)
    expect(await discover(two)).toMatchObject({
      issuer: two.issuer,
      jwks_uri: `${two.origin}/P2/.well-known/jwks.json`,
      registration_endpoint: `${two.origin}/v1/mgmt/mcp/client/P2/MS2/register`,
    })
  })

  test('gives tokens whose audience is the resource, with roles', async () => {
    const { payload } = await tokenOf(two, 'alice')
    expect(payload).toMatchObject({
      aud: resource,
      roles: ['mcp-users', 'staff'],
      tenants: { T1: { roles: ['mcp-users', 'staff'] } },
    })
  })

  test('registers clients for holders of the management key alone', async () => {
    const register = async (headers: Record<string, string>): Promise<number> => {
      const answer = await fetch(`${two.origin}/v1/mgmt/mcp/client/P2/MS2/register`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ redirect_uris: ['https://client.example/cb'] }),
      })
      return answer.status
    }
    expect(await register({})).toBe(401)
    expect(await register({ authorization: 'Bearer wrong' })).toBe(401)
    expect(await register({ authorization: 'Bearer K' })).toBe(201)
  })
})

async function authorization(idp: IdentityProvider, extra: Record<string, string>): Promise<URL> {
  const url = new URL((await discover(idp)).authorization_endpoint)
  const challenge = createHash('sha256').update(randomBytes(32)).digest('base64url')
  url.search = new URLSearchParams({
    response_type: 'code',
    client_id: clientId,
    redirect_uri: 'http://127.0.0.1:39999/cb',
    scope: 'openid profile',
    resource,
    code_challenge: challenge,
    code_challenge_method: 'S256',
    ...extra,
  }).toString()
  return url
}

/** A browser with cookies that stops at the client's redirect URI. */
async function browse(jar: Map<string, string>, start: string, form?: URLSearchParams) {
  let url = start
  let body = form
  for (;;) {
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
    const init = { redirect: 'manual', headers: { cookie } } as const
    const answer = await fetch(url, body === undefined ? init : { ...init, method: 'POST', body })
    for (const line of answer.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (name !== undefined && value !== undefined) jar.set(name, value)
    }
    const location = answer.headers.get('location')
    if (location === null) return { url, body: await answer.text() }
    url = new URL(location, url).href
    body = undefined
    if (url.startsWith('http://127.0.0.1:39999/cb')) return { url, body: '' }
  }
}

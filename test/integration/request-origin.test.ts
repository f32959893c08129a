// A policy without a configured resource: every URL that clients get is derived from the request, and only trusted
// proxies may declare that it was https. Also the second path of the server metadata, and the exact bodies of refusals.

import { once } from 'node:events'
import { connect } from 'node:http2'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { type Backend, startBackend } from '../support/backend.js'
import { type DocumentServer, startDocumentServer } from '../support/document-server.js'
import { type Answer, bearer, initialize, send } from '../support/http.js'
import {
  allow,
  backendRef,
  CORS_FILTER,
  gateway,
  httpRoute,
  prefix,
  proxyBackend,
  proxyPolicy,
  rule,
} from '../support/resources.js'
import { type Stack, startStack } from '../support/stack.js'
import { keySet, newKey, type SigningKey, signToken } from '../support/tokens.js'

const PRM = '/.well-known/oauth-protected-resource/mcp'
const AS = '/.well-known/oauth-authorization-server/mcp'
const OIDC = '/.well-known/openid-configuration/mcp'
const HOST = 'gw.example:8080'
const PAGE = 'http://app.example:6274'

let backend: Backend
let idp: DocumentServer
let key: SigningKey
/** No proxy in front of Envoy, and one. */
let direct: Stack
let behindProxy: Stack

const issuer = (): string => `${idp.origin}/plain`

const resources = (port: number): readonly object[] => [
  gateway([port]),
  proxyBackend('backend', backend),
  httpRoute('mcp', {
    rules: [
      {
        matches: ['/mcp', PRM, AS, OIDC].map(prefix),
        filters: [CORS_FILTER],
        backendRefs: [backendRef('backend')],
      },
    ],
  }),
  proxyPolicy('mcp', 'mcp', {
    jwtAuthentication: {
      providers: [
        { issuer: issuer(), audiences: ['api'], jwks: { inline: JSON.stringify(keySet(key)) } },
      ],
      mcp: { clientId: 'public-client', metadataIssuer: 'Gateway' },
    },
    authorization: allow('jwt.sub == "alice"'),
  }),
  httpRoute('scheme', { rules: [rule('/scheme', 'backend')] }),
  proxyPolicy('scheme', 'scheme', { authorization: allow('request.scheme == "https"') }),
]

beforeAll(async () => {
  ;[backend, idp, key] = await Promise.all([startBackend(), startDocumentServer(), newKey('k1')])
  idp.serve('/.well-known/oauth-authorization-server/plain', {
    issuer: issuer(),
    authorization_endpoint: `${issuer()}/authorize`,
    token_endpoint: `${issuer()}/token`,
    response_types_supported: ['code'],
  })
  ;[direct, behindProxy] = await Promise.all([
    startStack({ resources }),
    startStack({ resources, flags: ['--trusted-hops', '1'] }),
  ])
  for (const { origin } of [direct, behindProxy])
    await eventually(async () => expect((await send(origin, AS)).status).toBe(200))
})

afterAll(async () => {
  await Promise.all([direct.close(), behindProxy.close()])
  await Promise.all([backend.close(), idp.close()])
})

const parse = ({ body }: Answer): Record<string, unknown> =>
  JSON.parse(body) as Record<string, unknown>

/** Every URL of its own that the gateway tells a client who came to it with these headers. */
async function toldUrls({ origin }: Stack, headers: Record<string, string>): Promise<unknown[]> {
  const [refused, resource, server] = await Promise.all([
    send(origin, '/mcp', { ...initialize, headers }),
    send(origin, PRM, { headers }),
    send(origin, AS, { headers }),
  ])
  const { issuer: serverIssuer, registration_endpoint } = parse(server)
  const { resource: name, authorization_servers } = parse(resource)
  return [
    refused.headers['www-authenticate'],
    name,
    authorization_servers,
    serverIssuer,
    registration_endpoint,
  ]
}

const urlsAt = (origin: string): unknown[] => [
  `Bearer resource_metadata="${origin}${PRM}"`,
  `${origin}/mcp`,
  [`${origin}/mcp`],
  `${origin}/mcp`,
  `${origin}${AS}/client-registration`,
]

describe('the URLs that a client gets', () => {
  test('are at the host that it asked', async () => {
    expect(await toldUrls(direct, { host: HOST })).toEqual(urlsAt(`http://${HOST}`))
  })

  test('are not https because of a header of the client', async () => {
    const headers = { host: HOST, 'x-forwarded-proto': 'https', 'x-forwarded-host': 'evil.example' }
    expect(await toldUrls(direct, headers)).toEqual(urlsAt(`http://${HOST}`))
  })

  test('are https because of a header of a trusted proxy', async () => {
    const headers = { host: HOST, 'x-forwarded-proto': 'https', 'x-forwarded-for': '192.0.2.7' }
    expect(await toldUrls(behindProxy, headers)).toEqual(urlsAt(`https://${HOST}`))
    expect(await toldUrls(behindProxy, { host: HOST })).toEqual(urlsAt(`http://${HOST}`))
  })

  test.each(['a"b', 'a, error="x', 'user@gw.example', 'gw.example/x', '%00'])(
    'are not made of the host %s',
    async (host) => {
      for (const path of ['/mcp', PRM, AS]) {
        const answer = await send(direct.origin, path, { headers: { host } })
        expect(answer.status).toBeGreaterThanOrEqual(400)
        expect(JSON.stringify(answer.headers) + answer.body).not.toContain(host)
      }
      expect(backend.requests).toEqual([])
    },
  )
})

describe('the second path of the server metadata', () => {
  test('has the same document, and no body for HEAD', async () => {
    const answer = await send(direct.origin, OIDC)
    expect(answer.status).toBe(200)
    expect(parse(answer)).toEqual(parse(await send(direct.origin, AS)))
    const head = await send(direct.origin, OIDC, { method: 'HEAD' })
    expect([head.status, head.body]).toEqual([200, ''])
  })

  test('has no registration', async () => {
    const path = `${OIDC}/client-registration`
    const body = JSON.stringify({ redirect_uris: ['http://127.0.0.1/cb'] })
    const answer = await send(direct.origin, path, { method: 'POST', body })
    expect(answer.status).toBe(404)
    expect(backend.requests).toEqual([])
  })
})

describe('a refusal', () => {
  const headers = { origin: PAGE }

  test('without a token has the word that clients look for, and can be read by a page', async () => {
    const answer = await send(direct.origin, '/mcp', { ...initialize, headers })
    expect([answer.status, parse(answer)]).toEqual([
      401,
      {
        error: 'unauthorized',
        error_description: expect.stringMatching(/^Unauthorized: [\w ,]+$/) as string,
      },
    ])
    expect(answer.headers['access-control-allow-origin']).toBe(PAGE)
  })

  test('by a rule does not restart the login, and can be read by a page', async () => {
    const token = await signToken({ key, claims: { iss: issuer(), aud: 'api', sub: 'bob' } })
    const answer = await send(direct.origin, '/mcp', {
      ...initialize,
      headers: { ...headers, ...bearer(token) },
    })
    expect([answer.status, parse(answer)['error']]).toEqual([403, 'forbidden'])
    expect(answer.headers['www-authenticate']).toBeUndefined()
    expect(answer.headers['access-control-allow-origin']).toBe(PAGE)
    expect(backend.requests).toEqual([])
  })
})

describe('the scheme of a request over plain HTTP/2', () => {
  test('is http, whatever the client sends', async () => {
    for (const scheme of ['https', 'http'])
      expect(await schemeAnswer(direct, { ':scheme': scheme })).toBe(403)
    expect(await schemeAnswer(direct, { ':scheme': 'https', 'x-forwarded-proto': 'https' })).toBe(
      403,
    )
  })

  test('is that of a trusted proxy', async () => {
    const forwarded = (proto: string) => ({
      'x-forwarded-proto': proto,
      'x-forwarded-for': '192.0.2.7',
    })
    for (const scheme of ['https', 'http']) {
      expect(await schemeAnswer(behindProxy, { ':scheme': scheme, ...forwarded('https') })).toBe(
        200,
      )
      expect(await schemeAnswer(behindProxy, { ':scheme': scheme, ...forwarded('http') })).toBe(403)
    }
  })
})

/** The status of a request to the route that lets in what came over https. */
async function schemeAnswer({ origin }: Stack, headers: Record<string, string>): Promise<number> {
  const client = connect(origin)
  try {
    const stream = client.request({ ':path': '/scheme', ...headers })
    const [answer] = (await once(stream, 'response')) as [{ ':status': number }]
    stream.close()
    return answer[':status']
  } finally {
    client.close()
  }
}

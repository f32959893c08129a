// The well-known documents and registration of an MCP route, over a real stream.

import { afterEach, describe, expect, test } from 'vitest'
import { createProcessService } from '../../../src/extproc/process-service.js'
import type { CallRemote, RemoteRequest } from '../../../src/kit/http/http-call.js'
import type { WellKnownEntry } from '../../../src/model/proc-entry.js'
import { ProcessingMode_BodySendMode as BodySendMode } from '../../../src/wire/grpc/generated/envoy/extensions/filters/http/ext_proc/v3/processing_mode_pb.js'
import { eventually } from '../../../testing/eventually.js'
import { at, callRemote } from '../../kit/http/support/servers.js'
import { startHttpServer } from '../../support/http-server.js'
import { AS, entry, KEY, OIDC, PRM, proxied, REGISTRATION } from '../support/entries.js'
import { guardrails } from '../support/guards.js'
import { body, type PlainReply, replyIn, request, type RequestParts } from '../support/messages.js'
import { buildProcTable } from '../support/proc-table.js'
import { type ProcServer, silent, startProcServer, type Stream } from '../support/stream.js'

const closing: ProcServer[] = []
afterEach(async () => {
  await Promise.all(closing.splice(0).map((server) => server.close()))
})

const noCalls: CallRemote = () => Promise.reject(new Error('no call expected'))

const open = async (own: WellKnownEntry = entry(), callRemote = noCalls): Promise<Stream> =>
  (await serve([own], callRemote)).open(KEY)

async function serve(
  entries: readonly WellKnownEntry[],
  callRemote: CallRemote,
  bodyTimeoutMs = 60_000,
): Promise<ProcServer> {
  const table = buildProcTable(entries)
  const now = () => 1_700_000_000_000
  const server = await startProcServer(
    createProcessService({
      guardrails: { ...guardrails(), bodyTimeoutMs },
      table: () => table,
      callRemote,
      now,
      logger: silent,
    }),
  )
  closing.push(server)
  return server
}

async function ask(
  method: string,
  path: string,
  parts: RequestParts & { own?: WellKnownEntry } = {},
): Promise<PlainReply> {
  const stream = await open(parts.own)
  stream.send(request(method, path, parts))
  return replyIn(await stream.next())
}

/** A registration, headers first, as Envoy sends it with a buffered body. */
async function register(
  content: string | Uint8Array,
  own: WellKnownEntry = entry(),
  callRemote = noCalls,
  headers: Readonly<Record<string, string>> = {},
): Promise<PlainReply> {
  const stream = await open(own, callRemote)
  stream.send(request('POST', REGISTRATION, { headers }))
  expect((await stream.next()).response.case).toBe('requestHeaders')
  stream.send(body(content))
  const reply = replyIn(await stream.next())
  expect(stream.responses.length).toBe(2)
  return reply
}

describe('metadata', () => {
  test('of the resource', async () => {
    expect(await ask('GET', PRM)).toEqual({
      status: 200,
      headers: {
        'content-type': 'application/json',
        'cache-control': 'no-cache',
        'x-content-type-options': 'nosniff',
      },
      text: expect.any(String) as string,
      json: {
        resource: 'https://gw.example/mcp',
        authorization_servers: ['https://gw.example/mcp'],
        mcp_protocol_version: '2025-06-18',
        resource_type: 'mcp-server',
        scopes_supported: ['openid'],
      },
      details: 'gatehouse_metadata',
    })
  })

  test.each([AS, OIDC, `${AS}?x=1`])('of the server at %s', async (path) => {
    const { status, json } = await ask('GET', path)
    expect(status).toBe(200)
    expect(json).toEqual({
      issuer: 'https://gw.example/mcp',
      token_endpoint: 'https://idp.example/token',
      code_challenge_methods_supported: ['S256'],
      registration_endpoint: `https://gw.example${REGISTRATION}`,
    })
  })

  test('HEAD is answered like GET: Envoy leaves the body out', async () => {
    expect(await ask('HEAD', PRM)).toEqual(await ask('GET', PRM))
  })

  test.each(['POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'get', 'TRACE', ''])(
    '%j is not allowed',
    async (method) => {
      for (const path of [PRM, AS]) {
        const { status, headers, json } = await ask(method, path, { endOfStream: true })
        expect([status, headers.allow]).toEqual([405, 'GET, HEAD'])
        expect(json).toHaveProperty('error')
      }
    },
  )

  test('of a provider that was never reached is 503, of the resource still 200', async () => {
    const own = entry({ serverMetadata: { metadataIssuer: 'Gateway', clientIdConfigured: true } })
    const { status, headers } = await ask('GET', AS, { own })
    expect([status, headers['retry-after'], headers['cache-control']]).toEqual([
      503,
      '5',
      'no-store',
    ])
    expect((await ask('GET', PRM, { own })).status).toBe(200)
  })

  test.each([
    [{}, 'http://gw.example/mcp'],
    [{ 'x-forwarded-proto': 'https' }, 'https://gw.example/mcp'],
    [{ ':authority': '[::1]:8080', ':scheme': 'https' }, 'https://[::1]:8080/mcp'],
  ])('without a configured origin the request %j gives it', async (headers, resource) => {
    const reply = await ask('GET', PRM, { own: entry({ paths: { mcpPath: '/mcp' } }), headers })
    expect(reply.json).toMatchObject({ resource, authorization_servers: [resource] })
    expect(reply.headers.vary).toBe('x-forwarded-proto')
  })

  test('without a configured origin, a host that cannot be published is 400', async () => {
    const own = entry({ paths: { mcpPath: '/mcp' } })
    const headers = { ':authority': 'a"b' }
    for (const path of [PRM, AS]) {
      const { status, text } = await ask('GET', path, { own, headers })
      expect(status).toBe(400)
      expect(text).not.toContain('a\\"b')
    }
    expect((await ask('GET', PRM, { headers })).status).toBe(200)
  })
})

describe('anything else', () => {
  test.each([
    ['GET', '/.well-known/oauth-protected-resource'],
    ['GET', `${PRM}/x`],
    ['GET', `${PRM}foo`],
    ['POST', `${OIDC}/client-registration`],
    ['POST', `${AS}/x/client-registration`],
    ['GET', '/mcp'],
    ['GET', '/'],
    ['GET', ''],
    ['GET', '*'],
  ])('%s %s is 404', async (method, path) => {
    const { status, headers, json } = await ask(method, path)
    expect([status, headers['content-type']]).toEqual([404, 'application/json'])
    expect(json).toHaveProperty('error', 'not_found')
  })
})

describe('registration', () => {
  const good = JSON.stringify({ client_name: 'c', redirect_uris: ['http://127.0.0.1/cb'] })

  test('is answered with the configured client', async () => {
    const { status, headers, json } = await register(good)
    expect(status).toBe(201)
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'cache-control': 'no-store',
    })
    expect(json).toEqual({
      client_id: 'public-client',
      client_id_issued_at: 1_700_000_000,
      client_name: 'c',
      redirect_uris: ['http://127.0.0.1/cb'],
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
    })
  })

  test.each([
    ['', 400, 'invalid_client_metadata'],
    ['[]', 400, 'invalid_client_metadata'],
    ['{}', 400, 'invalid_redirect_uri'],
    [' '.repeat(64 * 1024 + 1), 413, 'invalid_client_metadata'],
  ])('of a bad body is refused', async (content, status, error) => {
    const reply = await register(content)
    expect(reply.status).toBe(status)
    expect(reply.json).toHaveProperty('error', error)
  })

  test('whose body does not come in time is 408', async () => {
    const stream = (await serve([entry()], noCalls, 20)).open(KEY)
    stream.send(request('POST', REGISTRATION))
    await stream.next()
    const { status, json } = replyIn(await stream.next())
    expect([status, json]).toMatchObject([408, { error: 'invalid_request' }])
    stream.send(body(good))
    stream.halfClose()
    expect([(await stream.end).code, stream.responses.length]).toEqual([0, 2])
  })

  test('without a body is refused at once', async () => {
    expect((await ask('POST', REGISTRATION, { endOfStream: true })).status).toBe(400)
  })

  test('that announces too much is refused before it is read', async () => {
    const headers = { 'content-length': String(64 * 1024 + 1) }
    expect((await ask('POST', REGISTRATION, { headers })).status).toBe(413)
  })

  test.each(['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS'])('%s is not allowed', async (method) => {
    const { status, headers } = await ask(method, REGISTRATION)
    expect([status, headers.allow]).toEqual([405, 'POST'])
  })

  test('that cannot be served is 501 with the reason', async () => {
    const own = entry({ registration: { type: 'refuse', description: 'set clientId' } })
    const { status, json } = await ask('POST', REGISTRATION, { own })
    expect(status).toBe(501)
    expect(json).toEqual({ error: 'invalid_client_metadata', error_description: 'set clientId' })
  })

  test.each([
    [BodySendMode.BUFFERED, true],
    [BodySendMode.NONE, false],
    [BodySendMode.STREAMED, false],
    [BodySendMode.BUFFERED_PARTIAL, false],
    [BodySendMode.FULL_DUPLEX_STREAMED, false],
  ])('asks for the body in mode %i: %s', async (requestBodyMode, continues) => {
    const stream = await open()
    stream.send(request('POST', REGISTRATION, { config: { requestBodyMode } }))
    if (continues) expect((await stream.next()).response.case).toBe('requestHeaders')
    else {
      expect((await stream.end).code).not.toBe(0)
      expect(stream.responses.map((response) => replyIn(response).status)).toEqual([503])
    }
  })
})

describe('registration at the provider', () => {
  const good = '{"redirect_uris":["http://127.0.0.1/cb"],"x":1}'
  const answering =
    (status: number, headers: Record<string, string>, text: string): CallRemote =>
    () =>
      Promise.resolve({ ok: true, value: { status, headers, body: Buffer.from(text) } })

  test('sends the body alone, and the count of hops', async () => {
    let sent: RemoteRequest | undefined
    await register(good, proxied(), (target, call) => {
      expect(target.url).toBe('https://idp.example/register')
      sent = call
      return answering(201, {}, '{}')(target, call)
    })
    expect(sent?.method).toBe('POST')
    expect(sent?.headers).toEqual({ 'content-type': 'application/json', 'gatehouse-hops': '1' })
    expect(Buffer.from(sent?.body ?? []).toString()).toBe(good)
    expect(sent?.timeoutMs).toBe(10_000)
  })

  test('counts on when the request has come from a gateway: the provider may be this one', async () => {
    let sent: RemoteRequest | undefined
    const call: CallRemote = (target, own) => {
      sent = own
      return answering(201, {}, '{}')(target, own)
    }
    await register(good, proxied(), call, { 'gatehouse-hops': '111' })
    expect(sent?.headers?.['gatehouse-hops']).toBe('1111')
  })

  test.each([201, 200, 400, 401, 403, 429, 500, 503])(
    '%i and its body come back',
    async (status) => {
      const headers = { 'content-type': 'application/json; charset=utf-8', 'set-cookie': 'a=b' }
      const reply = await register(good, proxied(), answering(status, headers, '{"error":"x"}'))
      expect(reply).toMatchObject({ status, text: '{"error":"x"}' })
      expect(reply.headers).toEqual({
        'content-type': 'application/json; charset=utf-8',
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
      })
    },
  )

  test('the headers that mean something to the client come back, if they are clean', async () => {
    const headers = {
      'www-authenticate': 'Bearer error="invalid_token"',
      'retry-after': '7\r\nx: y',
      'cache-control': 'no-store, private',
    }
    const reply = await register(good, proxied(), answering(401, headers, ''))
    expect(reply.headers).toEqual({
      'www-authenticate': 'Bearer error="invalid_token"',
      'cache-control': 'no-store, private',
      'content-type': 'text/plain',
      'x-content-type-options': 'nosniff',
    })
  })

  test.each(['text/html', 'application/xhtml+xml', 'image/svg+xml', 'application/jsonp', ''])(
    'a page of type %j is not one of the relay',
    async (type) => {
      const page = answering(500, { 'content-type': type }, '<script>')
      expect((await register(good, proxied(), page)).headers['content-type']).toBe('text/plain')
    },
  )

  test('a provider that does not answer is 502, without its reasons', async () => {
    const call: CallRemote = () =>
      Promise.resolve({ ok: false, error: { type: 'tls', hostname: 'inside.example', code: 'X' } })
    const { status, text, json } = await register(good, proxied(), call)
    expect(status).toBe(502)
    expect(json).toHaveProperty('error', 'temporarily_unavailable')
    expect(text).not.toContain('inside')
  })

  test('a provider that hangs is 502 when its time is over', async () => {
    const provider = await startHttpServer(() => undefined)
    // Ten seconds are simulated by 50 ms.
    const hurried: CallRemote = (_target, call) =>
      callRemote(at(provider.port), { ...call, timeoutMs: (call.timeoutMs ?? 1e10) / 200 })
    const { status, json } = await register(good, proxied(), hurried)
    await provider.close()
    expect([status, json]).toMatchObject([502, { error: 'temporarily_unavailable' }])
  })

  test('64 of a namespace at a provider that hangs refuse its next one there, and no other', async () => {
    const elsewhere = { ...proxied('https://other.example/register'), key: 'other' }
    const another = { ...proxied(), key: 'another', route: 'another/mcp' }
    const waiting: (() => void)[] = []
    const server = await serve([proxied(), elsewhere, another], (target) => {
      const answer = { status: 201, headers: {}, body: Buffer.from('{}') }
      if (target.url.includes('other')) return Promise.resolve({ ok: true, value: answer })
      return new Promise((resolve) =>
        waiting.push(() => resolve({ ok: true, value: { ...answer } })),
      )
    })
    const begin = async (key: string): Promise<Stream> => {
      const stream = server.open(key)
      stream.send(request('POST', REGISTRATION))
      await stream.next()
      stream.send(body(good))
      return stream
    }
    const all = await Promise.all(Array.from({ length: 64 }, () => begin(KEY)))
    await eventually(() => expect(waiting).toHaveLength(64))
    const next = replyIn(await (await begin(KEY)).next())
    expect(next).toMatchObject({ status: 503, headers: { 'retry-after': '5' } })
    expect(replyIn(await (await begin('other')).next()).status).toBe(201)
    await begin('another')
    await eventually(() => expect(waiting).toHaveLength(65))
    waiting.pop()?.()
    waiting.shift()?.()
    await eventually(() => expect(all.flatMap(({ responses }) => responses)).toHaveLength(65))
    await begin(KEY)
    await eventually(() => expect(waiting).toHaveLength(64))
  })

  test.each([100, 199, 600])('a status of %i is no answer', async (status) => {
    expect((await register(good, proxied(), answering(status, {}, ''))).status).toBe(502)
  })

  test('a body that is no registration is not sent on', async () => {
    expect((await register('[]', proxied())).status).toBe(400)
    expect((await register(' '.repeat(70_000), proxied())).status).toBe(413)
  })
})

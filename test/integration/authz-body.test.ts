// What ext_authz receives of request bodies: all of it, up to each route's size, on routes that ask for it, and nothing
// on others.

import { once } from 'node:events'
import { connect } from 'node:http2'
import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import {
  Authorization,
  type CheckRequest,
  CheckRequestSchema,
  CheckResponseSchema,
} from '../../src/wire/grpc/generated/envoy/service/auth/v3/external_auth_pb.js'
import { type GrpcServer, startGrpcServer } from '../../src/wire/grpc/server.js'
import { freePort } from '../../testing/ports.js'
import { type Backend, startBackend } from '../support/backend.js'
import { type Answer, send } from '../support/http.js'
import { chain, destination, forward, ir, route } from '../support/ir.js'
import { rawBytes } from '../support/raw-request.js'
import { startTranslated, type TranslatedEnvoy } from '../support/translated-envoy.js'
import { recordingLogger } from '../wire/grpc/recording-logger.js'

const SMALL = 4096
const LARGE = 3 * 1024 * 1024

const checks: CheckRequest[] = []
let backend: Backend
let server: GrpcServer
let envoy: TranslatedEnvoy
let origin: string

beforeAll(async () => {
  const port = await freePort()
  origin = `http://127.0.0.1:${String(port)}`
  backend = await startBackend()
  server = await startGrpcServer({
    address: { type: 'tcp', host: '127.0.0.1', port: 0 },
    services: [
      {
        name: Authorization.typeName,
        methods: {
          Check: {
            type: 'unary',
            handle: (bytes) => {
              checks.push(fromBinary(CheckRequestSchema, bytes))
              const allowed = { httpResponse: { case: 'okResponse' as const, value: {} } }
              return toBinary(CheckResponseSchema, create(CheckResponseSchema, allowed))
            },
          },
        },
      },
    ],
    logger: recordingLogger().logger,
  })
  envoy = await startTranslated(
    ir({
      port,
      chains: [
        chain(`default/gw/${String(port)}`, [
          route('/small', forward('backend'), { authz: 'small', authzBodyBytes: SMALL }),
          route('/large', forward('backend'), { authz: 'large', authzBodyBytes: LARGE }),
          route('/none', forward('backend'), { authz: 'none' }),
        ]),
      ],
      destinations: [destination('backend', backend.port)],
    }),
    {
      gatehouse: { type: 'tcp', host: '127.0.0.1', port: Number(server.address.split(':').at(-1)) },
    },
  )
})

afterAll(async () => {
  await envoy.close()
  await Promise.all([backend.close(), server.close()])
})

afterEach(() => {
  checks.length = 0
  backend.requests.length = 0
})

const post = (path: string, body: string, headers: Record<string, string> = {}): Promise<Answer> =>
  send(origin, path, { method: 'POST', body, headers })

const seen = (): readonly (readonly [body: string, raw: number])[] =>
  checks.map(({ attributes }) => {
    const http = attributes?.request?.http
    return [http?.body ?? 'no request', http?.rawBody.length ?? -1] as const
  })

describe('the size is that of the route', () => {
  test.each([
    ['/small', SMALL],
    ['/large', LARGE],
  ])('%s: all of a body of that size, as bytes, and 413 beyond it', async (path, size) => {
    expect((await post(path, 'x'.repeat(size))).status).toBe(200)
    expect(seen()).toEqual([['', size]])
    expect(backend.requests.map(({ body }) => body.length)).toEqual([size])
    expect((await post(path, 'x'.repeat(size + 1))).status).toBe(413)
    const chunked = { 'transfer-encoding': 'chunked' }
    expect((await post(path, 'x'.repeat(size + 1), chunked)).status).toBe(413)
    expect([checks.length, backend.requests.length]).toEqual([1, 1])
  })

  test('bytes that are no text arrive as they are', async () => {
    const head = 'POST /small HTTP/1.1\r\nHost: gateway.example\r\nContent-Length: 3\r\n\r\n'
    const bytes = Buffer.from([0xff, 0xfe, 0x00])
    const { status } = await rawBytes(origin, Buffer.concat([Buffer.from(head), bytes]))
    expect(status).toBe(200)
    expect(checks[0]?.attributes?.request?.http?.rawBody).toEqual(bytes)
  })

  test('a body in pieces is one', async () => {
    const chunked = { 'transfer-encoding': 'chunked' }
    expect((await post('/small', 'in pieces', chunked)).status).toBe(200)
    expect(seen()).toEqual([['', 9]])
  })
})

test('other routes: the check does not wait for the body, and has none', async () => {
  expect((await post('/none', 'x'.repeat(LARGE))).status).toBe(200)
  expect(seen()).toEqual([['', 0]])
  expect(backend.requests.map(({ body }) => body.length)).toEqual([LARGE])
})

test.each(['/small', '/none'])(
  'an upgrade over HTTP/2 (RFC 8441) is not served at %s',
  async (path) => {
    const session = connect(origin)
    try {
      await once(session, 'remoteSettings')
      expect(session.remoteSettings.enableConnectProtocol).not.toBe(true)
      const stream = session.request({
        ':method': 'CONNECT',
        ':protocol': 'websocket',
        ':scheme': 'http',
        ':path': path,
        ':authority': 'gateway.example',
      })
      stream.write('a frame')
      const outcome = await new Promise<string>((resolve) => {
        stream.on('response', (headers) => resolve(String(headers[':status'])))
        stream.on('error', () => undefined)
        stream.on('close', () => resolve(`reset: ${String(stream.rstCode)}`))
        session.on('error', () => undefined)
      })
      // Envoy does not answer it at all.
      expect(outcome).toMatch(/^reset/)
      expect([seen(), backend.requests.length]).toEqual([[], 0])
    } finally {
      session.destroy()
    }
  },
)

test('an upgrade would skip the body: none is served on such a route', async () => {
  const upgraded = { connection: 'upgrade', upgrade: 'websocket' }
  const { status } = await post('/small', 'a body', upgraded)
  expect([status, seen(), backend.requests.length]).toEqual([426, [], 0])
})

// A grpc-go client with Gatehouse's server: calls of both kinds, how they end, and what the connection tolerates.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import { afterEach, describe, expect, test } from 'vitest'
import type { GrpcAddress } from '../../src/wire/grpc/address.js'
import type { TlsFiles } from '../../src/wire/grpc/certificates.js'
import {
  Authorization,
  type CheckRequest,
  CheckRequestSchema,
  CheckResponseSchema,
} from '../../src/wire/grpc/generated/envoy/service/auth/v3/external_auth_pb.js'
import {
  ExternalProcessor,
  ProcessingResponseSchema,
} from '../../src/wire/grpc/generated/envoy/service/ext_proc/v3/external_processor_pb.js'
import { streamMethod } from '../../src/wire/grpc/health.js'
import { type GrpcServer, startGrpcServer } from '../../src/wire/grpc/server.js'
import type { Call, GrpcService } from '../../src/wire/grpc/service.js'
import { Status } from '../../src/wire/grpc/status.js'
import { eventually } from '../../testing/eventually.js'
import { ANY_PORT } from '../support/any-port.js'
import { selfSigned } from '../support/certificates.js'
import { recordingLogger } from '../wire/grpc/recording-logger.js'
import { grpcGo } from './support/grpc-go.js'

const OK = { event: 'end', code: Status.OK, message: '' }
const ALLOWED = toBinary(CheckResponseSchema, create(CheckResponseSchema))
let server: GrpcServer | undefined
/** Checks that have come, and what their test does with each. */
let calls: Call[] = []

afterEach(async () => {
  await server?.close()
  calls = []
})

type Check = (request: CheckRequest, call: Call) => Uint8Array | Promise<Uint8Array>

const checks = (answer: Check): GrpcService => ({
  name: Authorization.typeName,
  methods: {
    Check: {
      type: 'unary',
      handle: (bytes, call) => {
        calls.push(call)
        return answer(fromBinary(CheckRequestSchema, bytes), call)
      },
    },
  },
})

/** Says each body again. */
const echo: GrpcService = {
  name: ExternalProcessor.typeName,
  methods: {
    Process: streamMethod(ExternalProcessor.method.process, (call) => ({
      onMessage: ({ request }) => {
        const body = request.case === 'requestBody' ? request.value.body : new Uint8Array(0)
        const mutation = { case: 'body' as const, value: body }
        const value = { response: { bodyMutation: { mutation } } }
        const response = { case: 'requestBody' as const, value }
        call.send(create(ProcessingResponseSchema, { response }))
      },
      onEnd: () => call.end(),
      onCancel: () => {},
      onDrain: () => {},
    })),
  },
}

interface Serving {
  readonly address?: GrpcAddress
  readonly tls?: TlsFiles
}

async function serve(answer: Check, { address = ANY_PORT, tls }: Serving = {}): Promise<string> {
  const { logger } = recordingLogger()
  const services = [checks(answer), echo]
  server = await startGrpcServer({ address, services, logger, ...(tls !== undefined && { tls }) })
  return server.address
}

const never = (): Promise<Uint8Array> => new Promise(() => {})
const allow = (): Uint8Array => ALLOWED

describe.each(['TCP', 'a Unix socket', 'TLS', 'mutual TLS'])('over %s', (way) => {
  test('checks and streams are answered', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'gatehouse-go-'))
    const write = async (name: string, text: string): Promise<string> => {
      await writeFile(join(folder, name), text)
      return join(folder, name)
    }
    const [own, clients] = [selfSigned('127.0.0.1'), selfSigned('envoy.example')]
    const cert = await write('cert.pem', own.cert)
    const clientCa = await write('client.pem', clients.cert)
    const tls = { cert, key: await write('key.pem', own.key) }
    const clientKey = await write('client-key.pem', clients.key)
    const target = await serve(
      allow,
      way === 'TCP'
        ? {}
        : way === 'TLS'
          ? { tls }
          : way === 'mutual TLS'
            ? { tls: { ...tls, clientCa } }
            : { address: { type: 'unix', path: join(folder, 'grpc.sock') } },
    )
    const trust = way.endsWith('TLS') ? ['-ca', cert] : []
    const flags = way === 'mutual TLS' ? [...trust, '-cert', clientCa, '-key', clientKey] : trust
    const [answer, end] = await grpcGo('check', { target, flags }).rest()
    expect(answer).toMatchObject({ event: 'answer', status: 0 })
    expect(end).toEqual(OK)
    expect(await grpcGo('process', { target, flags }, '200', '3000').rest()).toEqual([
      { event: 'answers', count: 200, length: 600_000 },
      OK,
    ])
    if (way === 'mutual TLS')
      expect(await grpcGo('check', { target, flags: trust }).rest()).toMatchObject([
        { code: Status.UNAVAILABLE },
      ])
    await rm(folder, { recursive: true })
  })
})

describe('a call', () => {
  test('is over at its deadline, of which the server knows', async () => {
    const target = await serve(never)
    const before = Date.now()
    expect(await grpcGo('deadline', { target }).rest()).toMatchObject([
      { event: 'end', code: Status.DEADLINE_EXCEEDED },
    ])
    const [call] = calls
    expect(call?.deadline).toBeGreaterThan(before)
    expect(call?.deadline).toBeLessThanOrEqual(Date.now() + 200)
    await eventually(() => expect(call?.isCancelled()).toBe(true))
  })

  test('that its client gives up is cancelled', async () => {
    const client = grpcGo('cancel', { target: await serve(never) })
    await eventually(() => expect(calls).toHaveLength(1))
    expect(calls[0]?.isCancelled()).toBe(false)
    client.proceed()
    expect(await client.next()).toMatchObject({ event: 'end', code: Status.CANCELLED })
    await eventually(() => expect(calls[0]?.isCancelled()).toBe(true))
  })

  test('brings its metadata, each value of a name, and bytes of any kind', async () => {
    let seen: readonly (readonly string[])[] = []
    const target = await serve((_request, call) => {
      seen = [call.metadata('x-a'), call.metadata('x-b-bin')]
      return ALLOWED
    })
    expect(await grpcGo('metadata', { target }).rest()).toEqual([OK])
    const [plain, binary] = seen
    expect(plain).toEqual(['1', '2'])
    expect([...Buffer.from(binary?.join() ?? '', 'base64')]).toEqual(
      Array.from({ length: 256 }, (_, byte) => byte),
    )
  })

  test('may have messages of 8 MiB both ways; so may streams', async () => {
    const target = await serve(({ attributes }) => {
      const value = attributes?.request?.http?.headers['authorization'] ?? ''
      const headers = [{ header: { key: 'x', value } }]
      const httpResponse = { case: 'okResponse' as const, value: { headers } }
      return toBinary(CheckResponseSchema, create(CheckResponseSchema, { httpResponse }))
    })
    const length = 'Bearer '.length + 8 * 1024 * 1024
    expect(await grpcGo('large', { target }).rest()).toEqual([{ event: 'answer', length }, OK])
    expect(await grpcGo('process', { target }, '6', '8000000').rest()).toEqual([
      { event: 'answers', count: 6, length: 48_000_000 },
      OK,
    ])
  })

  test('with a compressed message is UNIMPLEMENTED, and the next one is served', async () => {
    const target = await serve(allow)
    expect(await grpcGo('compressed', { target }).rest()).toEqual([
      { event: 'end', code: Status.UNIMPLEMENTED, message: 'compression is not supported' },
      OK,
    ])
    expect(calls).toHaveLength(1)
  })
})

describe('a connection', () => {
  test('has 4,096 streams open at once; the client keeps the others until there is room', async () => {
    const waiting: ((answer: Uint8Array) => void)[] = []
    let answersAtOnce = true
    const target = await serve(() =>
      answersAtOnce ? ALLOWED : new Promise((resolve) => waiting.push(resolve)),
    )
    const client = grpcGo('many', { target })
    expect(await client.next()).toEqual({ event: 'ready' })
    answersAtOnce = false
    client.proceed()
    await eventually(() => expect(waiting).toHaveLength(4_096), 60_000)
    for (const answer of waiting.splice(0)) answer(ALLOWED)
    await eventually(() => expect(waiting).toHaveLength(6_000 - 4_096), 60_000)
    for (const answer of waiting) answer(ALLOWED)
    expect(await client.next()).toEqual({ event: 'codes', counts: { OK: 6_000 } })
  })

  test('that is idle lives, with a PING every 10 s, the most that grpc-go sends', async () => {
    const target = await serve(allow)
    const flags = ['-ping', '10s']
    expect(await grpcGo('keepalive', { target, flags }).rest()).toEqual([
      { event: 'idle', lost: false },
      OK,
    ])
  })

  test('that is drained finishes what is under way, and takes nothing new', async () => {
    const waiting: ((answer: Uint8Array) => void)[] = []
    const target = await serve(() => new Promise((resolve) => waiting.push(resolve)))
    const client = grpcGo('drain', { target })
    await eventually(() => expect(waiting).toHaveLength(50))
    const drained = server?.drain(60_000)
    // On a new connection, as this one has gone away: there is nobody who listens.
    expect(await client.next()).toEqual({ event: 'late', code: Status.UNAVAILABLE })
    for (const answer of waiting) answer(ALLOWED)
    expect(await client.next()).toEqual({
      event: 'drained',
      counts: { OK: 50 },
      stream: true,
      ended: true,
    })
    await drained
  })
})

import { mkdtemp, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { create } from '@bufbuild/protobuf'
import { Client, credentials, status } from '@grpc/grpc-js'
import type { ServerDuplexStream, ServiceError, UntypedServiceImplementation } from '@grpc/grpc-js'
import { afterEach, describe, expect, test } from 'vitest'
import {
  CheckRequestSchema,
  CheckResponseSchema,
} from '../../src/grpc/generated/envoy/service/auth/v3/external_auth_pb.js'
import type {
  CheckRequest,
  CheckResponse,
} from '../../src/grpc/generated/envoy/service/auth/v3/external_auth_pb.js'
import {
  HealthCheckRequestSchema,
  HealthCheckResponse_ServingStatus as Serving,
} from '../../src/grpc/generated/grpc/health/v1/health_pb.js'
import type {
  HealthCheckRequest,
  HealthCheckResponse,
} from '../../src/grpc/generated/grpc/health/v1/health_pb.js'
import {
  AUTHORIZATION,
  authorizationService,
  EXTERNAL_PROCESSOR,
  externalProcessorService,
  healthService,
} from '../../src/grpc/protos.js'
import { startGrpcServer } from '../../src/grpc/server.js'
import type { GrpcServer, GrpcService } from '../../src/grpc/server.js'
import { recordingLogger } from './recording-logger.js'

const started: GrpcServer[] = []
const clients: Client[] = []

afterEach(async () => {
  clients.splice(0).forEach((client) => client.close())
  await Promise.all(started.splice(0).map((server) => server.close()))
})

const { logger, lines } = recordingLogger()

const start = async (services: readonly GrpcService[], address = '127.0.0.1:0') => {
  const server = await startGrpcServer({ address, services, logger })
  started.push(server)
  return server
}

const connect = (server: GrpcServer): Client => {
  const client = new Client(server.address, credentials.createInsecure())
  clients.push(client)
  return client
}

const authorization = (check: UntypedServiceImplementation[string]): GrpcService => ({
  name: AUTHORIZATION,
  definition: authorizationService,
  implementation: { check },
})

const allowing = authorization((_call: unknown, callback: (e: null, r: CheckResponse) => void) =>
  callback(null, create(CheckResponseSchema)),
)

const method = <Request, Response>(definition: typeof healthService, name: string) => {
  const found = definition[name]
  if (found === undefined) throw new Error(`no method ${name}`)
  return {
    path: found.path,
    serialize: found.requestSerialize as (request: Request) => Buffer,
    deserialize: found.responseDeserialize as (bytes: Buffer) => Response,
  }
}

const call = <Request, Response>(
  client: Client,
  definition: typeof healthService,
  name: string,
  request: Request,
): Promise<Response> => {
  const { path, serialize, deserialize } = method<Request, Response>(definition, name)
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(path, serialize, deserialize, request, (error, response) => {
      if (error !== null) reject(error)
      else if (response !== undefined) resolve(response)
    })
  })
}

const check = (client: Client) =>
  call<CheckRequest, CheckResponse>(
    client,
    authorizationService,
    'check',
    create(CheckRequestSchema),
  )

const health = (client: Client, service = '') =>
  call<HealthCheckRequest, HealthCheckResponse>(
    client,
    healthService,
    'check',
    create(HealthCheckRequestSchema, { service }),
  )

const codeOf = (work: Promise<unknown>): Promise<number> =>
  work.then(
    () => status.OK,
    (error: unknown) => (error as ServiceError).code,
  )

describe('address', () => {
  test('listens on a free port and says which', async () => {
    const server = await start([allowing])
    expect(server.address).toMatch(/^127\.0\.0\.1:[1-9]\d*$/)
    await expect(check(connect(server))).resolves.toBeDefined()
  })

  test('listens on a Unix socket that only its owner may use', async () => {
    const path = join(await mkdtemp(join(tmpdir(), 'gatehouse-')), 'grpc.sock')
    const server = await start([allowing], `unix:${path}`)
    expect((await stat(path)).mode & 0o777).toBe(0o600)
    await expect(check(connect(server))).resolves.toBeDefined()
  })

  test('takes over the socket of a process that is gone, but not one in use or another file', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'gatehouse-'))
    const stale = join(folder, 'stale.sock')
    await leaveStaleSocket(stale)
    const server = await start([allowing], `unix:${stale}`)
    await expect(check(connect(server))).resolves.toBeDefined()

    await expect(start([allowing], `unix:${stale}`)).rejects.toThrow('in use by another process')
    await expect(check(connect(server))).resolves.toBeDefined()

    const file = join(folder, 'notes.txt')
    await writeFile(file, 'keep me')
    await expect(start([allowing], `unix:${file}`)).rejects.toThrow('is not a socket')
  })

  test.each(['8080', 'host', 'host:99999', 'unix:', ':80'])('refuses %s', async (address) => {
    await expect(start([allowing], address)).rejects.toThrow('neither host:port nor unix:PATH')
  })

  test('warns of a plaintext address that others can reach', async () => {
    await start([allowing], '0.0.0.0:0')
    expect(lines.at(-1)?.message).toContain('--grpc-client-ca')
  })
})

const leaveStaleSocket = async (path: string): Promise<void> => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(`${path}.live`, resolve))
  const { rename } = await import('node:fs/promises')
  // Renamed, the file is not removed when its server closes: as after a crash.
  await rename(`${path}.live`, path)
  await new Promise<void>((resolve) => server.close(() => resolve()))
}

describe('faults', () => {
  test('a message that is no protobuf fails its call and nothing else', async () => {
    const client = connect(await start([allowing]))
    const garbage = new Promise((resolve, reject) => {
      client.makeUnaryRequest(
        `/${AUTHORIZATION}/Check`,
        () => Buffer.from([0x0a, 0xff, 0xff, 0xff]),
        (bytes: Buffer) => bytes,
        {},
        (error, response) => (error === null ? resolve(response) : reject(error)),
      )
    })
    expect(await codeOf(garbage)).not.toBe(status.OK)
    await expect(check(client)).resolves.toBeDefined()
  })

  test('a handler that throws fails its call, without its message', async () => {
    let calls = 0
    const service = authorization(
      (_call: unknown, callback: (e: null, r: CheckResponse) => void) => {
        if (calls++ === 0) throw new Error('secret detail')
        callback(null, create(CheckResponseSchema))
      },
    )
    const client = connect(await start([service]))
    const error = await check(client).catch((reason: unknown) => reason as ServiceError)
    expect(error).toMatchObject({ code: status.UNKNOWN })
    expect((error as ServiceError).details).not.toContain('secret detail')
    await expect(check(client)).resolves.toBeDefined()
  })
})

describe('health', () => {
  test('says SERVING of every service and of the whole, and does not know others', async () => {
    const client = connect(await start([allowing]))
    expect((await health(client)).status).toBe(Serving.SERVING)
    expect((await health(client, AUTHORIZATION)).status).toBe(Serving.SERVING)
    expect(await codeOf(health(client, 'no.such.Service'))).toBe(status.NOT_FOUND)
  })

  test('tells watchers of changes, and that a service is unknown', async () => {
    const server = await start([allowing])
    const client = connect(server)
    const watched = watch(client, AUTHORIZATION)
    expect(await watched.next()).toBe(Serving.SERVING)
    server.setServing(false)
    expect(await watched.next()).toBe(Serving.NOT_SERVING)
    expect((await health(client)).status).toBe(Serving.NOT_SERVING)
    server.setServing(true)
    expect(await watched.next()).toBe(Serving.SERVING)
    expect(await watch(client, 'no.such.Service').next()).toBe(Serving.SERVICE_UNKNOWN)
  })
})

const watch = (client: Client, service: string) => {
  const { path, serialize, deserialize } = method<HealthCheckRequest, HealthCheckResponse>(
    healthService,
    'watch',
  )
  const request = create(HealthCheckRequestSchema, { service })
  const stream = client.makeServerStreamRequest(path, serialize, deserialize, request)
  stream.on('error', () => undefined)
  const iterator = (stream as AsyncIterable<HealthCheckResponse>)[Symbol.asyncIterator]()
  return {
    next: async (): Promise<Serving | undefined> => {
      const next = await iterator.next()
      return next.done === true ? undefined : next.value.status
    },
  }
}

describe('drain', () => {
  test('waits for a running check, refuses new ones, then is down', async () => {
    let finish: (() => void) | undefined
    const arrived = new Promise<void>((resolve) => {
      started.length = 0
      void start([
        authorization((_call: unknown, callback: (e: null, r: CheckResponse) => void) => {
          finish = () => callback(null, create(CheckResponseSchema))
          resolve()
        }),
      ])
    })
    await expect.poll(() => started.length).toBe(1)
    const [server] = started
    if (server === undefined) throw new Error('not started')
    const client = connect(server)
    const running = check(client)
    await arrived
    let drained = false
    const draining = server.drain(5_000).then(() => (drained = true))
    expect(await codeOf(check(connect(server)))).toBe(status.UNAVAILABLE)
    expect(drained).toBe(false)
    finish?.()
    await expect(running).resolves.toBeDefined()
    await draining
  })

  test('lets a service end its streams, and cuts off what is left when the time is up', async () => {
    const streams: ServerDuplexStream<unknown, unknown>[] = []
    const processor = (drain?: GrpcService['drain']): GrpcService => ({
      name: EXTERNAL_PROCESSOR,
      definition: externalProcessorService,
      implementation: {
        process: (stream: ServerDuplexStream<unknown, unknown>) => void streams.push(stream),
      },
      ...(drain !== undefined && { drain }),
    })
    const polite = await start([
      processor(() => {
        streams.forEach((s) => s.emit('error', { code: status.UNAVAILABLE, details: 'stopping' }))
      }),
    ])
    const ended = openStream(connect(polite))
    await expect.poll(() => streams.length).toBe(1)
    await polite.drain(5_000)
    expect(await ended).toBe(status.UNAVAILABLE)

    const stubborn = await start([processor()])
    const cut = openStream(connect(stubborn))
    await expect.poll(() => streams.length).toBe(2)
    await stubborn.drain(50)
    expect(await cut).not.toBe(status.OK)
  })
})

/** The status code that the stream ends with. */
const openStream = (client: Client): Promise<number> => {
  const { path, serialize, deserialize } = method(externalProcessorService, 'process')
  const stream = client.makeBidiStreamRequest(path, serialize, deserialize)
  stream.on('data', () => undefined)
  stream.on('error', () => undefined)
  return new Promise((resolve) => stream.on('status', ({ code }) => resolve(code)))
}

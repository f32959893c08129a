import { create } from '@bufbuild/protobuf'
import type { Client } from '@grpc/grpc-js'
import { status } from '@grpc/grpc-js'
import { afterEach, describe, expect, test } from 'vitest'
import type { CheckResponse } from '../../../src/wire/grpc/generated/envoy/service/auth/v3/external_auth_pb.js'
import { CheckResponseSchema } from '../../../src/wire/grpc/generated/envoy/service/auth/v3/external_auth_pb.js'
import { ExternalProcessor } from '../../../src/wire/grpc/generated/envoy/service/ext_proc/v3/external_processor_pb.js'
import type {
  HealthCheckRequest,
  HealthCheckResponse,
} from '../../../src/wire/grpc/generated/grpc/health/v1/health_pb.js'
import {
  HealthCheckRequestSchema,
  HealthCheckResponse_ServingStatus as Serving,
} from '../../../src/wire/grpc/generated/grpc/health/v1/health_pb.js'
import type { GrpcService, StreamCall } from '../../../src/wire/grpc/service.js'
import {
  AUTHORIZATION,
  externalProcessorService,
  healthService,
} from '../../support/grpc-client.js'
import {
  allowing,
  authorization,
  check,
  closeAll,
  codeOf,
  connect,
  health,
  method,
  start,
  startUnready,
} from './grpc-harness.js'

afterEach(closeAll)

describe('health', () => {
  test('is NOT_SERVING until it is set', async () => {
    const client = connect(await startUnready([allowing]))
    expect((await health(client)).status).toBe(Serving.NOT_SERVING)
  })

  test('is SERVING for every service and the whole server, and unknown for others', async () => {
    const client = connect(await start([allowing]))
    expect((await health(client)).status).toBe(Serving.SERVING)
    expect((await health(client, AUTHORIZATION)).status).toBe(Serving.SERVING)
    expect(await codeOf(health(client, 'no.such.Service'))).toBe(status.NOT_FOUND)
  })

  test('reports changes to watchers, and unknown services', async () => {
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

function watch(client: Client, service: string) {
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
    const finishers: (() => void)[] = []
    const server = await start([
      authorization(
        () =>
          new Promise<CheckResponse>((resolve) => {
            finishers.push(() => resolve(create(CheckResponseSchema)))
          }),
      ),
    ])
    const running = check(connect(server))
    await expect.poll(() => finishers.length).toBe(1)
    let drained = false
    const draining = server.drain(5_000).then(() => (drained = true))
    expect(await codeOf(check(connect(server)))).toBe(status.UNAVAILABLE)
    expect(drained).toBe(false)
    finishers[0]?.()
    await expect(running).resolves.toBeDefined()
    await draining
  })

  test('is not held up by who watches the health of a service, or of none that there is', async () => {
    const server = await start([allowing])
    const client = connect(server)
    const watched = [watch(client, AUTHORIZATION), watch(client, 'no.such.Service')]
    for (const each of watched) await each.next()
    await server.drain(600_000)
    expect(await watched[1]?.next()).toBeUndefined()
  })

  test('lets a service end its streams, and cuts off what is left when the time is up', async () => {
    const streams: StreamCall[] = []
    const nothing = (): void => undefined
    const processor = (drain?: GrpcService['drain']): GrpcService => ({
      name: ExternalProcessor.typeName,
      methods: {
        Process: {
          type: 'stream',
          open: (call) => {
            streams.push(call)
            return { onMessage: nothing, onEnd: nothing, onCancel: nothing, onDrain: nothing }
          },
        },
      },
      ...(drain !== undefined && { drain }),
    })
    const polite = await start([
      processor(() => {
        streams.forEach((call) => call.end(status.UNAVAILABLE, 'stopping'))
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
function openStream(client: Client): Promise<number> {
  const { path, serialize, deserialize } = method(externalProcessorService, 'process')
  const stream = client.makeBidiStreamRequest(path, serialize, deserialize)
  stream.on('data', () => undefined)
  stream.on('error', () => undefined)
  return new Promise((resolve) => stream.on('status', ({ code }) => resolve(code)))
}

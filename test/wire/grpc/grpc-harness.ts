// A gRPC server with small services, and clients of it; closed after each test by closeAll().

import { create } from '@bufbuild/protobuf'
import type { ServiceError } from '@grpc/grpc-js'
import { type Client, status } from '@grpc/grpc-js'
import type { GrpcAddress } from '../../../src/wire/grpc/address.js'
import type {
  CheckRequest,
  CheckResponse,
} from '../../../src/wire/grpc/generated/envoy/service/auth/v3/external_auth_pb.js'
import {
  Authorization,
  CheckRequestSchema,
  CheckResponseSchema,
} from '../../../src/wire/grpc/generated/envoy/service/auth/v3/external_auth_pb.js'
import type {
  HealthCheckRequest,
  HealthCheckResponse,
} from '../../../src/wire/grpc/generated/grpc/health/v1/health_pb.js'
import { HealthCheckRequestSchema } from '../../../src/wire/grpc/generated/grpc/health/v1/health_pb.js'
import { unaryMethod } from '../../../src/wire/grpc/health.js'
import type { GrpcServer } from '../../../src/wire/grpc/server.js'
import { startGrpcServer } from '../../../src/wire/grpc/server.js'
import type { GrpcService } from '../../../src/wire/grpc/service.js'
import { ANY_PORT } from '../../support/any-port.js'
import { authorizationService, healthService, plainClient } from '../../support/grpc-client.js'
import { recordingLogger } from './recording-logger.js'

const started: GrpcServer[] = []
const clients: Client[] = []

export async function closeAll(): Promise<void> {
  clients.splice(0).forEach((client) => client.close())
  await Promise.all(started.splice(0).map((server) => server.close()))
}

const recording = recordingLogger()
export const { lines } = recording

export async function start(services: readonly GrpcService[], address: GrpcAddress = ANY_PORT) {
  const server = await startUnready(services, address)
  server.setServing(true)
  return server
}

export async function startUnready(
  services: readonly GrpcService[],
  address: GrpcAddress = ANY_PORT,
) {
  const server = await startGrpcServer({ address, services, logger: recording.logger })
  started.push(server)
  return server
}

export function connect(server: GrpcServer): Client {
  const client = plainClient(server.address)
  clients.push(client)
  return client
}

export const authorization = (
  check: () => CheckResponse | Promise<CheckResponse>,
): GrpcService => ({
  name: Authorization.typeName,
  methods: { Check: unaryMethod(Authorization.method.check, check) },
})

export const allowing = authorization(() => create(CheckResponseSchema))

export function method<Request, Response>(definition: typeof healthService, name: string) {
  const found = definition[name]
  if (found === undefined) throw new Error(`no method ${name}`)
  return {
    path: found.path,
    serialize: found.requestSerialize as (request: Request) => Buffer,
    deserialize: found.responseDeserialize as (bytes: Buffer) => Response,
  }
}

function call<Request, Response>(
  client: Client,
  definition: typeof healthService,
  name: string,
  request: Request,
): Promise<Response> {
  const { path, serialize, deserialize } = method<Request, Response>(definition, name)
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(path, serialize, deserialize, request, (error, response) => {
      if (error !== null) reject(error)
      else if (response !== undefined) resolve(response)
    })
  })
}

export const check = (client: Client) =>
  call<CheckRequest, CheckResponse>(
    client,
    authorizationService,
    'check',
    create(CheckRequestSchema),
  )

export const health = (client: Client, service = '') =>
  call<HealthCheckRequest, HealthCheckResponse>(
    client,
    healthService,
    'check',
    create(HealthCheckRequestSchema, { service }),
  )

export const codeOf = (work: Promise<unknown>): Promise<number> =>
  work.then(
    () => status.OK,
    (error: unknown) => (error as ServiceError).code,
  )

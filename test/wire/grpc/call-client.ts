// A gRPC server, and a client that talks to it byte by byte over Node's HTTP/2.

import { once } from 'node:events'
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2'
import { afterEach } from 'vitest'
import {
  type GrpcServer,
  type GrpcServerOptions,
  startGrpcServer,
} from '../../../src/wire/grpc/server.js'
import type { GrpcMethod } from '../../../src/wire/grpc/service.js'
import { ANY_PORT } from '../../support/any-port.js'
import { recordingLogger } from './recording-logger.js'

export let server: GrpcServer
export let session: ClientHttp2Session
export const { logger, lines } = recordingLogger()

export async function serve(
  methods: Readonly<Record<string, GrpcMethod>>,
  more: Pick<GrpcServerOptions, 'messages' | 'arrivalMs'> = {},
): Promise<void> {
  lines.length = 0
  server = await startGrpcServer({
    address: ANY_PORT,
    services: [{ name: 'a.Service', methods }],
    logger,
    ...more,
  })
  session = connect(`http://${server.address}`)
}

/** Registers the end of the session and the server after each test of the calling file. */
export function endAfterEach(): void {
  afterEach(async () => {
    session.destroy()
    await server.close()
  })
}

export function message(content: string | Buffer, compressed = 0): Buffer {
  const bytes = Buffer.from(content)
  const prefix = Buffer.alloc(5)
  prefix[0] = compressed
  prefix.writeUInt32BE(bytes.length, 1)
  return Buffer.concat([prefix, bytes])
}

export const open = (
  path: string,
  more: Readonly<Record<string, string>> = {},
): ClientHttp2Stream =>
  session.request({
    ':method': 'POST',
    ':path': path,
    'content-type': 'application/grpc',
    te: 'trailers',
    ...more,
  })

export interface Outcome {
  readonly status: number
  readonly message: string | undefined
  readonly content: string
}

export async function outcomeOf(stream: ClientHttp2Stream): Promise<Outcome> {
  let fields: Readonly<Record<string, unknown>> = {}
  const parts: Buffer[] = []
  stream.on('response', (headers: object) => (fields = { ...fields, ...headers }))
  stream.on('trailers', (headers: object) => (fields = { ...fields, ...headers }))
  stream.on('data', (chunk: Buffer) => parts.push(chunk))
  stream.on('error', () => {})
  await once(stream, 'close')
  const said = fields['grpc-message']
  return {
    status: Number(fields['grpc-status']),
    message: typeof said === 'string' ? decodeURIComponent(said) : undefined,
    content: Buffer.concat(parts).subarray(5).toString(),
  }
}

export function ask(path: string, content: Buffer, more = {}): Promise<Outcome> {
  const stream = open(path, more)
  stream.end(content)
  return outcomeOf(stream)
}

export const nothing = (): void => undefined
export const echo: GrpcMethod = { type: 'unary', handle: (request) => request }

import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect as connectHttp2 } from 'node:http2'
import { type AddressInfo, connect as connectTcp, createServer as createTcpServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { create } from '@bufbuild/protobuf'
import type { ChannelCredentials } from '@grpc/grpc-js'
import { Client, credentials } from '@grpc/grpc-js'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { CheckResponse } from '../../../src/wire/grpc/generated/envoy/service/auth/v3/external_auth_pb.js'
import {
  Authorization,
  CheckRequestSchema,
  CheckResponseSchema,
} from '../../../src/wire/grpc/generated/envoy/service/auth/v3/external_auth_pb.js'
import { unaryMethod } from '../../../src/wire/grpc/health.js'
import { isPrivatePeer } from '../../../src/wire/grpc/peer.js'
import type { GrpcServer } from '../../../src/wire/grpc/server.js'
import { startGrpcServer } from '../../../src/wire/grpc/server.js'
import { Status } from '../../../src/wire/grpc/status.js'
import { eventually } from '../../../testing/eventually.js'
import { ANY_PORT } from '../../support/any-port.js'
import type { KeyPair } from '../../support/certificates.js'
import { selfSigned } from '../../support/certificates.js'
import { AUTHORIZATION, messageCodec } from '../../support/grpc-client.js'
import { message, outcomeOf } from './call-client.js'
import { recordingLogger } from './recording-logger.js'

let folder: string
let server: GrpcServer | undefined
let peers: boolean[]
const { logger, lines } = recordingLogger()
const localhost = selfSigned('localhost', '127.0.0.1')
const other = selfSigned('localhost', '127.0.0.1')
const client = selfSigned('envoy.example')

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gatehouse-tls-'))
  peers = []
  lines.length = 0
})

afterEach(async () => {
  await server?.close()
  server = undefined
  await rm(folder, { recursive: true })
})

async function file(name: string, text: string): Promise<string> {
  const path = join(folder, name)
  await writeFile(path, text)
  return path
}

const install = async ({ cert, key }: KeyPair) => ({
  cert: await file('cert.pem', cert),
  key: await file('key.pem', key),
  rereadMs: 20,
})

async function start(clientCa?: string, acceptsTokens = false): Promise<GrpcServer> {
  const files = { ...(await install(localhost)), acceptsTokens }
  const tls =
    clientCa === undefined ? files : { ...files, clientCa: await file('ca.pem', clientCa) }
  const check = unaryMethod(Authorization.method.check, (_request, { peer }) => {
    peers.push(isPrivatePeer(peer, { loopback: false }))
    return create(CheckResponseSchema)
  })
  const services = [{ name: Authorization.typeName, methods: { Check: check } }]
  server = await startGrpcServer({ address: ANY_PORT, tls, services, logger })
  return server
}

async function check(
  address: string,
  creds: ChannelCredentials,
): Promise<CheckResponse | undefined> {
  const channel = new Client(address, creds)
  try {
    return await new Promise((resolve, reject) => {
      channel.makeUnaryRequest(
        `/${AUTHORIZATION}/Check`,
        messageCodec(CheckRequestSchema).serialize,
        messageCodec(CheckResponseSchema).deserialize,
        create(CheckRequestSchema),
        (error, response) => (error === null ? resolve(response) : reject(error)),
      )
    })
  } finally {
    channel.close()
  }
}

const tlsOptions = (port: number, own: KeyPair | undefined) => ({
  host: '127.0.0.1',
  port,
  ca: localhost.cert,
  ALPNProtocols: ['h2'],
  ...own,
})

/** Resolves to the TLS session of a connection that is then closed. */
async function sessionOf(port: number, own: KeyPair | undefined): Promise<Buffer> {
  const socket = connect(tlsOptions(port, own))
  socket.resume()
  const [session] = (await once(socket, 'session')) as [Buffer]
  socket.destroy()
  return session
}

/** Calls over a connection that resumes the session. */
async function checkResuming(port: number, own: KeyPair | undefined, resumed: Buffer) {
  const socket = connect({ ...tlsOptions(port, own), session: resumed })
  const session = connectHttp2('https://localhost', { createConnection: () => socket })
  const call = session.request({
    ':method': 'POST',
    ':path': `/${AUTHORIZATION}/Check`,
    te: 'trailers',
    'content-type': 'application/grpc',
  })
  call.end(message(''))
  expect((await outcomeOf(call)).status).toBe(Status.OK)
  expect(socket.isSessionReused()).toBe(true)
  session.destroy()
}

const trusting = (authority: KeyPair, own?: KeyPair): ChannelCredentials =>
  own === undefined
    ? credentials.createSsl(Buffer.from(authority.cert))
    : credentials.createSsl(
        Buffer.from(authority.cert),
        Buffer.from(own.key),
        Buffer.from(own.cert),
      )

describe('TLS', () => {
  test('serves the certificate; a client without one of its own is not a private peer', async () => {
    const { address } = await start()
    expect(await check(address, trusting(localhost))).toBeDefined()
    expect(peers).toEqual([false])
    await expect(check(address, trusting(other))).rejects.toThrow()
    await expect(check(address, credentials.createInsecure())).rejects.toThrow()
  })

  test('with a client authority, lets in only clients that it signed, and they are private', async () => {
    const { address } = await start(client.cert)
    await expect(check(address, trusting(localhost))).rejects.toThrow()
    await expect(check(address, trusting(localhost, other))).rejects.toThrow()
    expect(peers).toEqual([])
    expect(await check(address, trusting(localhost, client))).toBeDefined()
    expect(peers).toEqual([true])
  })

  test.each<[string, KeyPair | undefined, boolean]>([
    ['without a certificate', undefined, false],
    ['with a certificate of another authority', other, false],
    ['with a certificate', client, true],
  ])('a client %s counts the same after it resumes its session', async (_, own, isPrivate) => {
    const port = Number((await start(client.cert, true)).address.split(':')[1])
    await checkResuming(port, own, await sessionOf(port, own))
    expect(peers).toEqual([isPrivate])
  })

  test('follows the files, and keeps the last good ones when they cannot be used', async () => {
    const { address } = await start()
    await install(other)
    await eventually(() => check(address, trusting(other)))
    await file('key.pem', 'no key')
    await eventually(() => {
      expect(lines.some(({ message }) => message.includes('not usable'))).toBe(true)
    })
    expect(await check(address, trusting(other))).toBeDefined()
  })

  test('tells a client whose handshake ends during a drain to go elsewhere', async () => {
    const { address } = await start()
    const port = Number(address.split(':')[1])
    const options = { host: '127.0.0.1', ca: localhost.cert, ALPNProtocols: ['h2'] }
    const busy = connectHttp2(`https://${address}`, { ca: localhost.cert })
    const call = busy.request({ ':method': 'POST', ':path': '/' }, { endStream: false })
    const late = connectTcp(port)
    await Promise.all([once(busy, 'connect'), once(late, 'connect')])
    await new Promise<void>((resolve) => busy.ping(() => resolve()))
    const drained = server?.drain(5_000)
    await once(busy, 'goaway')
    const session = connectHttp2(`https://${address}`, {
      createConnection: () => connect({ ...options, socket: late }),
    })
    await once(session, 'goaway')
    call.end()
    await drained
    for (const own of [busy, session]) own.destroy()
  })

  test('does not start with files that cannot be used', async () => {
    const files = await install({ ...localhost, key: other.key })
    const options = { address: ANY_PORT, tls: files, services: [], logger }
    const startWith = (more: object) => startGrpcServer({ ...options, tls: { ...files, ...more } })
    await expect(startWith({})).rejects.toThrow(
      `${files.key} is not the private key of ${files.cert}`,
    )
    const missing = join(folder, 'no-such.pem')
    await expect(startWith({ key: missing })).rejects.toThrow(`${missing}: no such file`)
    const bad = await file('bad.pem', 'garbage')
    await expect(startWith({ cert: bad })).rejects.toThrow(
      `${bad} is not a certificate chain in PEM`,
    )
    await expect(startWith({ key: bad })).rejects.toThrow(`${bad} is not a private key in PEM`)
    const trusted = { ...(await install(localhost)), clientCa: bad }
    await expect(startWith(trusted)).rejects.toThrow(`${bad} is not a certificate in PEM`)
    // The second authority would not be trusted, and nothing would say so.
    const bundle = await file('bundle.pem', `${localhost.cert}${other.cert.slice(0, -40)}`)
    await expect(startWith({ ...trusted, clientCa: bundle })).rejects.toThrow(
      `${bundle} is not a certificate in PEM: certificate 2: `,
    )
  })

  test('speaks nothing older than TLS 1.2', async () => {
    const [, port] = (await start()).address.split(':')
    const socket = connect({
      port: Number(port),
      maxVersion: 'TLSv1.1',
      minVersion: 'TLSv1',
      rejectUnauthorized: false,
    })
    const outcome = await new Promise((resolve) => {
      socket.once('secureConnect', () => resolve('connected'))
      socket.once('error', () => resolve('refused'))
    })
    socket.destroy()
    expect(outcome).toBe('refused')
  })
})

describe('a private peer', () => {
  const from = (address: string, loopback: boolean): boolean =>
    isPrivatePeer({ type: 'tcp', address, hasCertificate: false }, { loopback })

  const LOOPBACK = ['127.0.0.1', '::1', '::ffff:127.0.0.1', '127.8.8.8']

  test('is whoever comes over a Unix socket', () => {
    for (const loopback of [true, false])
      expect(
        isPrivatePeer({ type: 'unix', address: '', hasCertificate: false }, { loopback }),
      ).toBe(true)
  })
  test.each(LOOPBACK)('is %s where loopback is trusted', (address) =>
    expect(from(address, true)).toBe(true),
  )
  test.each(LOOPBACK)('is not %s where it is not', (address) =>
    expect(from(address, false)).toBe(false),
  )
  test.each(['10.0.0.1', '::ffff:10.0.0.1', 'fe80::1', '127.evil.example', ''])(
    'is not %s',
    (address) => expect(from(address, true)).toBe(false),
  )
})

test('a client whose TLS breaks after the handshake is cut off', async () => {
  const own = await start()
  const toServer = connectTcp(Number(own.address.split(':').at(-1)), '127.0.0.1')
  // The client never closes by itself, and does not see the alert.
  const relay = createTcpServer({ allowHalfOpen: true }, (fromClient) => {
    fromClient.on('data', (bytes) => toServer.write(bytes)).on('error', () => undefined)
    toServer.on('data', (bytes) => fromClient.write(bytes)).on('error', () => undefined)
  })
  relay.listen(0, '127.0.0.1')
  await once(relay, 'listening')
  const secure = connect(tlsOptions((relay.address() as AddressInfo).port, undefined))
  secure.on('error', () => undefined)
  await once(secure, 'secureConnect')
  expect(own.connections()).toBe(1)
  // A record with bytes that no key has encrypted.
  toServer.write(Buffer.concat([Buffer.of(0x17, 3, 3, 0, 40), Buffer.alloc(40, 7)]))
  await eventually(() => expect(own.connections()).toBe(0))
  secure.destroy()
  relay.close()
})

import { rename, stat, writeFile } from 'node:fs/promises'
import { connect as connectTcp, createServer } from 'node:net'
import { join } from 'node:path'
import { create } from '@bufbuild/protobuf'
import type { ServiceError } from '@grpc/grpc-js'
import { status } from '@grpc/grpc-js'
import { afterEach, describe, expect, test } from 'vitest'
import { CheckResponseSchema } from '../../../src/wire/grpc/generated/envoy/service/auth/v3/external_auth_pb.js'
import { ANY_PORT } from '../../support/any-port.js'
import { AUTHORIZATION } from '../../support/grpc-client.js'
import { temporaryFolder } from '../../support/program.js'
import {
  allowing,
  authorization,
  check,
  closeAll,
  codeOf,
  connect,
  lines,
  start,
} from './grpc-harness.js'

afterEach(closeAll)

describe('address', () => {
  test('listens on a free port and says which', async () => {
    const server = await start([allowing])
    expect(server.address).toMatch(/^127\.0\.0\.1:[1-9]\d*$/)
    await expect(check(connect(server))).resolves.toBeDefined()
  })

  test('listens on a Unix socket that only its owner and its group may use', async () => {
    const path = join(await temporaryFolder(), 'grpc.sock')
    const server = await start([allowing], { type: 'unix', path })
    expect((await stat(path)).mode & 0o777).toBe(0o660)
    await expect(check(connect(server))).resolves.toBeDefined()
  })

  test('takes over the socket of a process that is gone, but not one in use or another file', async () => {
    const folder = await temporaryFolder()
    const stale = join(folder, 'stale.sock')
    await leaveStaleSocket(stale)
    const server = await start([allowing], { type: 'unix', path: stale })
    await expect(check(connect(server))).resolves.toBeDefined()

    await expect(start([allowing], { type: 'unix', path: stale })).rejects.toThrow(
      'in use by another process',
    )
    await expect(check(connect(server))).resolves.toBeDefined()

    const file = join(folder, 'notes.txt')
    await writeFile(file, 'keep me')
    await expect(start([allowing], { type: 'unix', path: file })).rejects.toThrow('is not a socket')

    const nowhere = join(folder, 'nowhere')
    await expect(start([allowing], { type: 'unix', path: `${nowhere}/g.sock` })).rejects.toThrow(
      `${nowhere}/g.sock cannot be made: ${nowhere} is no folder`,
    )
  })

  test('warns of a plaintext address that others can reach', async () => {
    await start([allowing], { ...ANY_PORT, host: '0.0.0.0' })
    expect(lines.at(-1)?.message).toContain('--grpc-client-ca')
  })
})

async function leaveStaleSocket(path: string): Promise<void> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(`${path}.live`, resolve))
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

  test('a connection that does not speak HTTP/2 is closed and disturbs no other', async () => {
    const server = await start([allowing])
    const client = connect(server)
    const socket = connectTcp(Number(server.address.split(':')[1]))
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    socket.resume()
    await new Promise((resolve) => socket.once('close', resolve))
    await expect(check(client)).resolves.toBeDefined()
  })

  test('a handler that throws fails its call, without its message', async () => {
    let calls = 0
    const service = authorization(() => {
      if (calls++ === 0) throw new Error('secret detail')
      return create(CheckResponseSchema)
    })
    const client = connect(await start([service]))
    const error = await check(client).catch((reason: unknown) => reason as ServiceError)
    expect(error).toMatchObject({ code: status.UNKNOWN })
    expect((error as ServiceError).details).not.toContain('secret detail')
    await expect(check(client)).resolves.toBeDefined()
  })
})

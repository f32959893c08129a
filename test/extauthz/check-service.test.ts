// The service as Envoy uses it: over gRPC, with deadlines and cancellation.

import type { Client, ServiceError } from '@grpc/grpc-js'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { buildAuthzTable } from '../../src/extauthz/authz-table.js'
import { createCheckService } from '../../src/extauthz/check-service.js'
import type { KeySetFetch } from '../../src/extauthz/token/fresh-keys.js'
import { createHeldBytes } from '../../src/extproc/session/held-bytes.js'
import { type GrpcServer, startGrpcServer } from '../../src/wire/grpc/server.js'
import { ANY_PORT } from '../support/any-port.js'
import { plainClient } from '../support/grpc-client.js'
import {
  available,
  bearer,
  checkRequest,
  entry,
  jwt,
  readAnswer,
  sign,
  type SigningKey,
  signingKey,
  type TestAnswer,
  type TestRequest,
} from './helpers.js'

let key: SigningKey
let server: GrpcServer | undefined
let client: Client | undefined

beforeAll(async () => {
  key = await signingKey()
})

afterEach(async () => {
  client?.close()
  await server?.close()
})

/** The deadlines of gRPC are real: so is the clock here. */
const fresh = { exp: Math.floor(Date.now() / 1000) + 600 }

const silent = (): void => undefined
const lines: object[] = []
const warn = (line: object): void => void lines.push(line)
const logger = { debug: silent, info: silent, warn, error: silent }

async function serve(
  refetchKeySet: () => Promise<KeySetFetch>,
  isUnfilled = false,
  heldBytes = Infinity,
): Promise<Client> {
  const filled = buildAuthzTable([entry({ jwt: jwt(available(key.jwk)) })])
  const table = { get: (name: string) => filled.get(name), isUnfilled }
  const service = createCheckService({
    table: () => table,
    refetchKeySet,
    keySetAnswers: () => 1,
    now: Date.now,
    logger,
    metrics: { observe: silent, audited: silent },
  })
  const messages = createHeldBytes(heldBytes)
  server = await startGrpcServer({ address: ANY_PORT, services: [service], logger, messages })
  client = plainClient(server.address)
  return client
}

/** @param givenUp when the caller cancels the call; absent: never. */
const call = (
  to: Client,
  request: TestRequest | Buffer,
  givenUp?: Promise<unknown>,
  deadline = Infinity,
): Promise<TestAnswer> =>
  new Promise((resolve, reject) => {
    const started = to.makeUnaryRequest(
      '/envoy.service.auth.v3.Authorization/Check',
      (bytes: Buffer) => bytes,
      (bytes: Buffer) => bytes,
      Buffer.isBuffer(request) ? request : checkRequest(request),
      { deadline },
      (error: ServiceError | null, bytes) => {
        if (error !== null || bytes === undefined) reject(error ?? new Error('no answer'))
        else resolve(readAnswer(bytes))
      },
    )
    void givenUp?.then(() => started.cancel())
  })

describe('over gRPC', () => {
  test('a good token gets in, again and again, a bad one does not', async () => {
    const to = await serve(() => Promise.resolve({ isAnswered: true, isOlder: false }))
    const token = await sign(key, fresh)
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => call(to, { headers: [bearer(token)] })),
    )
    expect(answers.every(({ status }) => status === 200)).toBe(true)
    expect((await call(to, { headers: [bearer(`${token}A`)] })).status).toBe(401)
    expect((await call(to, {})).status).toBe(401)
    expect((await call(to, { key: 'nope' })).status).toBe(503)
  })

  test('no check is answered before resources were read: the caller is sent to another replica', async () => {
    const to = await serve(() => Promise.resolve({ isAnswered: true, isOlder: false }), true)
    const headers = [bearer(await sign(key, fresh))]
    await expect(call(to, { headers })).rejects.toMatchObject({ code: 14 })
  })

  test('a caller that waits less than a key set takes is denied before it gives up', async () => {
    const to = await serve(() => new Promise(silent))
    const token = await sign(await signingKey('RS256', 'unknown'), fresh)
    const deadline = Date.now() + 900
    const answer = await call(to, { headers: [bearer(token)] }, undefined, deadline)
    expect(answer).toMatchObject({ status: 503, headers: { 'retry-after': '1' } })
  })

  test('a message that is larger than one may be is denied', async () => {
    const to = await serve(() => Promise.resolve({ isAnswered: true, isOlder: false }))
    expect((await call(to, Buffer.alloc(33 * 1024 * 1024))).status).toBe(503)
  })

  test('a message without room among those that have not arrived whole is denied, to be tried again', async () => {
    lines.length = 0
    const fetch = (): Promise<KeySetFetch> => Promise.resolve({ isAnswered: true, isOlder: false })
    const to = await serve(fetch, false, 100_000)
    expect(await call(to, Buffer.alloc(1_000_000))).toMatchObject({
      status: 503,
      headers: { 'retry-after': '1' },
    })
    expect(lines).toMatchObject([{ reason: 'too-many-unfinished-messages' }])
    expect((await call(to, { headers: [bearer(await sign(key, fresh))] })).status).toBe(200)
  })

  test('a caller that does not wait gets an error, and the next one an answer', async () => {
    let ask = silent
    const asked = new Promise<void>((resolve) => (ask = resolve))
    const to = await serve(() => {
      ask()
      return new Promise(silent)
    })
    const token = await sign(await signingKey('RS256', 'unknown'), fresh)
    await expect(call(to, { headers: [bearer(token)] }, asked)).rejects.toMatchObject({ code: 1 })
    expect((await call(to, { headers: [bearer(await sign(key, fresh))] })).status).toBe(200)
  })
})

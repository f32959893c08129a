// How a token may be sent through Envoy: in one Authorization header, as one token, and nowhere else.

import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { send } from '../support/http.js'
import {
  jwt,
  protectedRoute,
  type ProtectedStack,
  sign,
  startProtectedStack,
} from '../support/protected-stack.js'
import { newKey } from '../support/tokens.js'

const ours = await newKey('k1')
const attacker = await newKey('k1')

let stack: ProtectedStack

beforeAll(async () => {
  stack = await startProtectedStack(
    protectedRoute('strict', { jwtAuthentication: jwt([ours]) }),
    protectedRoute('forwarded', { jwtAuthentication: jwt([ours], { forwardToken: true }) }),
  )
})
afterAll(() => stack.close())

describe('the Authorization header', () => {
  const raw = async (...headers: readonly string[]): Promise<number> => {
    const seen = stack.backend.requests.length
    const { status } = await send(stack.origin, '/strict', { headers })
    expect(stack.backend.requests.length - seen).toBe(status === 200 ? 1 : 0)
    return status
  }

  test.each(['bearer', 'BEARER', 'BeArEr'])('the scheme may be written %s', async (scheme) => {
    expect(await raw('authorization', `${scheme} ${await sign(ours)}`)).toBe(200)
  })

  test('twice is refused, whichever is good, and also when both are', async () => {
    const [good, bad] = [`Bearer ${await sign(ours)}`, `Bearer ${await sign(attacker)}`]
    for (const [first, second] of [
      [good, bad],
      [bad, good],
      [good, good],
    ] as const)
      expect(await raw('authorization', first, 'Authorization', second)).toBe(401)
  })

  test('an empty second one is removed before it is read', async () => {
    const good = `Bearer ${await sign(ours)}`
    for (const values of [
      ['', good],
      [good, ''],
    ]) {
      const headers = values.flatMap((value) => ['authorization', value])
      expect((await send(stack.origin, '/forwarded', { headers })).status).toBe(200)
      const { rawHeaders = [] } = stack.backend.requests.at(-1) ?? {}
      const names = rawHeaders.filter((_, index) => index % 2 === 0)
      expect(names.filter((name) => name.toLowerCase() === 'authorization')).toHaveLength(1)
      expect(rawHeaders).toContain(good)
    }
  })

  test.each<[string, (token: string) => string]>([
    ['two tokens joined by a comma', (token) => `Bearer ${token},Bearer ${token}`],
    ['two tokens joined by a comma and a space', (token) => `Bearer ${token}, Bearer ${token}`],
    ['two tokens', (token) => `Bearer ${token} ${token}`],
    ['no scheme', (token) => token],
    ['another scheme', (token) => `Basic ${token}`],
    ['a scheme that begins like ours', (token) => `Bearerx ${token}`],
    ['a tab', (token) => `Bearer\t${token}`],
    ['quotes', (token) => `Bearer "${token}"`],
    ['a trailing letter', (token) => `Bearer ${token}\u00e9`],
    ['nothing', () => 'Bearer'],
    ['an empty token', () => 'Bearer '],
  ])('%s', async (_what, value) => {
    expect(await raw('authorization', value(await sign(ours)))).toBe(401)
  })

  test('a token over 16 KiB is refused, one below is not', async () => {
    const big = await sign(ours, { filler: 'x'.repeat(9_000) })
    expect(big.length).toBeLessThan(16_000)
    expect(await stack.statusOf('strict', big)).toBe(200)
    const huge = await sign(ours, { filler: 'x'.repeat(12_500) })
    expect(huge.length).toBeGreaterThan(16_384)
    expect(await stack.statusOf('strict', huge)).toBe(401)
  })

  test('bytes that are not UTF-8 are refused', async () => {
    const token = Buffer.from(await sign(ours))
    for (const bad of [[0xff], [0xc3, 0x28], [0xed, 0xa0, 0x80], [0x80]]) {
      const seen = stack.backend.requests.length
      const answer = await rawBytes(
        Buffer.concat([Buffer.from('Bearer '), token, Buffer.from(bad)]),
      )
      expect(answer).toMatch(/^HTTP\/1\.1 40[01] /)
      expect(stack.backend.requests).toHaveLength(seen)
    }
  })

  test('elsewhere than in the header a token counts for nothing', async () => {
    const token = await sign(ours)
    for (const path of [`/strict?access_token=${token}`, `/strict?Authorization=Bearer%20${token}`])
      expect((await send(stack.origin, path)).status).toBe(401)
    for (const name of [
      'x-authorization',
      'proxy-authorization',
      'x-forwarded-access-token',
      'cookie',
    ])
      expect(await stack.statusOf('strict', undefined, { [name]: `Bearer ${token}` })).toBe(401)
  })
})

/** One request whose Authorization header has exactly these bytes → the whole answer. */
async function rawBytes(authorization: Buffer): Promise<string> {
  const { hostname, port } = new URL(stack.origin)
  const socket = connect(Number(port), hostname)
  const start = `GET /strict HTTP/1.1\r\nHost: ${hostname}\r\nConnection: close\r\nAuthorization: `
  socket.write(Buffer.concat([Buffer.from(start), authorization, Buffer.from('\r\n\r\n')]))
  return text(socket)
}

// The outcome of a check when anything that it waits for fails, hangs or is late.

import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { type AuthzTable, buildAuthzTable } from '../../src/extauthz/authz-table.js'
import type { CheckOptions } from '../../src/extauthz/check-context.js'
import {
  available,
  bearer,
  checker,
  entry,
  jwt,
  NOW,
  sign,
  type SigningKey,
  signingKey,
} from './helpers.js'

let before: SigningKey
let after: SigningKey

beforeAll(async () => {
  before = await signingKey('RS256', 'before')
  after = await signingKey('RS256', 'after')
})

afterEach(() => vi.useRealTimers())

const table = (...keys: SigningKey[]): AuthzTable =>
  buildAuthzTable([entry({ jwt: jwt(available(...keys.map(({ jwk }) => jwk))) })])

/** A fetch that began after it was asked for, and was answered. */
const FETCHED = { isAnswered: true, isOlder: false }

describe('a check that cannot be finished', () => {
  /** A key of 4,224 bits: a thread verifies by it. */
  let large: SigningKey
  beforeAll(async () => {
    large = await signingKey('RS256', 'large', { modulusLength: 4224 })
  })

  /** The tokens that make it wait, and the tables that their keys lead to. */
  const waits = (): [string, SigningKey, () => AuthzTable, Partial<CheckOptions>][] => {
    let current = table(before)
    const fetching = {
      refetchKeySet: () => {
        current = table(before, after)
        return Promise.resolve(FETCHED)
      },
    }
    return [
      ['keys that are fetched', after, () => current, fetching],
      ['a thread that verifies', large, () => table(large), {}],
    ]
  }

  test('is refused when its deadline passed while it waited', async () => {
    for (const [what, key, current, options] of waits()) {
      const token = await sign(key)
      let now = NOW * 1000
      const { check, observed } = checker(current, { ...options, now: () => (now += 100) })
      const answer = await check(
        { headers: [bearer(token)] },
        { isCancelled: () => false, deadline: NOW * 1000 + 150 },
      )
      expect(answer.status, what).toBe(503)
      expect(observed.decisions[0]).toMatchObject({ decision: 'deny', reason: 'deadline' })
    }
  })

  test('is refused when Envoy gave it up while it waited', async () => {
    for (const [what, key, current, options] of waits()) {
      const token = await sign(key)
      let cancelled = false
      const { check } = checker(current, options)
      const answer = check(
        { headers: [bearer(token)] },
        { isCancelled: () => cancelled, deadline: Infinity },
      )
      cancelled = true
      expect((await answer).status, what).toBe(503)
    }
  })

  test('is let through by a large key that a thread verifies by, and only by its signature', async () => {
    const { check } = checker(() => table(large))
    const token = await sign(large)
    const [header, , signature] = token.split('.')
    const [, payload] = (await sign(before, { sub: 'bob' })).split('.')
    const other = `${header}.${payload}.${signature}`
    expect((await check({ headers: [bearer(token)] })).status).toBe(200)
    expect((await check({ headers: [bearer(other)] })).status).toBe(401)
  })

  test('is refused when a part of it throws, and the log holds nothing of the request', async () => {
    const token = await sign(before)
    const broken = (): never => {
      throw new Error(`with ${token} inside`)
    }
    const parts: Parameters<typeof checker>[1][] = [
      { now: broken },
      { table: broken },
      { refetchKeySet: broken },
    ]
    for (const options of parts) {
      const { check, observed } = checker(() => table(after), options)
      expect((await check({ headers: [bearer(token)] })).status).toBe(503)
      expect(observed.decisions).toHaveLength(1)
      expect(JSON.stringify(observed.lines)).not.toContain(token)
    }
  })

  test('is not changed by metrics or a log that throw', async () => {
    const broken = (): never => {
      throw new Error('full')
    }
    const headers = [bearer(await sign(before))]
    for (const options of [
      { metrics: { observe: broken, audited: broken } },
      { logger: { debug: broken, info: broken, warn: broken, error: broken } },
    ]) {
      const { check } = checker(() => table(before), options)
      expect((await check({ headers })).status).toBe(200)
      expect((await check({ headers })).status).toBe(200)
      expect((await check({})).status).toBe(401)
      expect((await check({ key: 'nope' })).status).toBe(503)
    }
  })

  test('is refused when its bytes are no message', async () => {
    const { check, observed } = checker(() => table(before))
    expect((await check(Buffer.from([0xff, 0xff, 0xff]))).status).toBe(503)
    expect((await check(Buffer.alloc(0))).status).toBe(503)
    expect(observed.decisions.map(({ reason }) => reason)).toEqual([
      'malformed-check',
      'unknown-route',
    ])
  })
})

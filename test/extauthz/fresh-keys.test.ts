// A token whose key is not in the set: one more look at the provider, within bounds (decision 2); and what happens to a
// check when anything it waits for fails, hangs or comes too late.

import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { buildAuthzTable, type AuthzTable } from '../../src/extauthz/authz-table.js'
import type { JwtProvider } from '../../src/ir/authz-entry.js'
import {
  available,
  bearer,
  checker,
  entry,
  jwt,
  NOW,
  provider,
  sign,
  signingKey,
  type SigningKey,
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

const never = (): Promise<void> => new Promise(() => undefined)

describe('an unknown kid', () => {
  test('is looked up again, and the request gets in with the new keys', async () => {
    let current = table(before)
    const asked: string[] = []
    const { check } = checker(() => current, {
      refetchKeySet: (id) => {
        asked.push(id)
        current = table(before, after)
        return Promise.resolve()
      },
    })
    expect((await check({ headers: [bearer(await sign(after))] })).status).toBe(200)
    expect((await check({ headers: [bearer(await sign(after))] })).status).toBe(200)
    expect(asked).toEqual(['set-1'])
  })

  test('is looked up again where a pinned key set of the same issuer has no such key either', async () => {
    const pinned = provider({
      state: 'available',
      source: { type: 'inline' },
      jwks: { keys: [before.jwk] },
    })
    for (const list of [
      (fetched: JwtProvider) => [pinned, fetched],
      (fetched: JwtProvider) => [fetched, pinned],
    ]) {
      const both = (...keys: SigningKey[]): AuthzTable => {
        const keySet = available(...keys.map(({ jwk }) => jwk))
        return buildAuthzTable([entry({ jwt: jwt(keySet, { providers: list(provider(keySet)) }) })])
      }
      let current = both(before)
      const { check } = checker(() => current, {
        refetchKeySet: () => {
          current = both(after)
          return Promise.resolve()
        },
      })
      expect((await check({ headers: [bearer(await sign(after))] })).status).toBe(200)
    }
  })

  test('that stays unknown is refused', async () => {
    const { check, observed } = checker(() => table(before))
    expect((await check({ headers: [bearer(await sign(after))] })).status).toBe(401)
    expect(observed.decisions[0]?.reason).toBe('unknown-key')
  })

  test('leaves no timer behind when the provider answers or fails', async () => {
    const token = await sign(after)
    const timers = vi.spyOn(globalThis, 'setTimeout')
    const cleared = vi.spyOn(globalThis, 'clearTimeout')
    for (const refetchKeySet of [() => Promise.resolve(), () => Promise.reject(new Error())]) {
      await checker(() => table(before), { refetchKeySet }).check({ headers: [bearer(token)] })
      const mine = timers.mock.results[timers.mock.calls.findIndex(([, ms]) => ms === 500)]
      expect(cleared).toHaveBeenCalledWith(mine?.value)
      timers.mockClear()
      cleared.mockClear()
    }
    vi.restoreAllMocks()
  })

  test('is not looked up for a token that would be refused anyway', async () => {
    const refetchKeySet = vi.fn(() => Promise.resolve())
    const { check } = checker(() => table(before), { refetchKeySet })
    await check({ headers: [bearer(await sign(after, { exp: NOW - 999 }))] })
    await check({ headers: [bearer(await sign(after, { iss: 'https://evil.example' }))] })
    await check({ headers: [bearer(await sign(after, { aud: 'someone' }))] })
    expect(refetchKeySet).not.toHaveBeenCalled()
  })

  test('in an inline key set is refused at once', async () => {
    const refetchKeySet = vi.fn(() => Promise.resolve())
    const inline = {
      state: 'available',
      source: { type: 'inline' },
      jwks: { keys: [{ ...before.jwk }] },
    } as unknown as ReturnType<typeof available>
    const { check } = checker([entry({ jwt: jwt(inline) })], { refetchKeySet })
    expect((await check({ headers: [bearer(await sign(after))] })).status).toBe(401)
    expect((await check({ headers: [bearer(await sign(before))] })).status).toBe(200)
    expect(refetchKeySet).not.toHaveBeenCalled()
  })

  test('waits half a second for a provider that hangs, then refuses', async () => {
    const token = await sign(after)
    vi.useFakeTimers()
    const { check } = checker(() => table(before), { refetchKeySet: never })
    const answer = check({ headers: [bearer(token)] })
    let answered = false
    void answer.then(() => (answered = true))
    await vi.advanceTimersByTimeAsync(499)
    expect(answered).toBe(false)
    await vi.advanceTimersByTimeAsync(1)
    expect((await answer).status).toBe(401)
    expect(vi.getTimerCount()).toBe(0)
  })

  test('is refused when the fetch fails, in whatever way', async () => {
    const token = await sign(after)
    const failures: (() => Promise<void>)[] = [
      () => Promise.reject(new Error('refused')),
      () => Promise.reject(new TypeError('secret-in-message')),
    ]
    for (const refetchKeySet of failures) {
      const { check, observed } = checker(() => table(before), { refetchKeySet })
      expect((await check({ headers: [bearer(token)] })).status).toBe(401)
      expect(JSON.stringify(observed.lines)).not.toContain('secret-in-message')
    }
  })

  test('is refused when the route has lost its authentication, or itself, meanwhile', async () => {
    const token = await sign(after)
    for (const next of [[], [entry({})]]) {
      let current = table(before)
      const { check } = checker(() => current, {
        refetchKeySet: () => {
          current = buildAuthzTable(next)
          return Promise.resolve()
        },
      })
      expect((await check({ headers: [bearer(token)] })).status).toBe(401)
    }
  })
})

describe('a check that cannot be finished', () => {
  test('is refused when its deadline passed while it waited', async () => {
    const token = await sign(before)
    let now = NOW * 1000
    const { check, observed } = checker(() => table(before), {
      now: () => (now += 100),
    })
    const answer = await check(
      { headers: [bearer(token)] },
      { isCancelled: () => false, deadline: NOW * 1000 + 150 },
    )
    expect(answer.status).toBe(503)
    expect(observed.decisions[0]).toMatchObject({ decision: 'deny', reason: 'deadline' })
  })

  test('is refused when Envoy gave it up while it waited', async () => {
    const token = await sign(before)
    let cancelled = false
    const { check } = checker(() => table(before))
    const answer = check(
      { headers: [bearer(token)] },
      { isCancelled: () => cancelled, deadline: Infinity },
    )
    cancelled = true
    expect((await answer).status).toBe(503)
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
      { metrics: { observe: broken } },
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

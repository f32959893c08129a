// A token whose key is not in the set: the set is fetched once more, within limits (decision 2).

import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { type AuthzTable, buildAuthzTable } from '../../../src/extauthz/authz-table.js'
import type { KeySetFetch } from '../../../src/extauthz/token/fresh-keys.js'
import type { JwtProvider } from '../../../src/model/authz-entry.js'
import {
  available,
  bearer,
  checker,
  entry,
  jwt,
  NOW,
  provider,
  sign,
  type SigningKey,
  signingKey,
} from '../helpers.js'

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

const never = (): Promise<KeySetFetch> => new Promise(() => undefined)

describe('an unknown kid', () => {
  test('is looked up again, and the request gets in with the new keys', async () => {
    let current = table(before)
    const asked: string[] = []
    const { check } = checker(() => current, {
      refetchKeySet: (id) => {
        asked.push(id)
        current = table(before, after)
        return Promise.resolve(FETCHED)
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
          return Promise.resolve(FETCHED)
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
    for (const refetchKeySet of [
      () => Promise.resolve(FETCHED),
      () => Promise.reject(new Error()),
    ]) {
      await checker(() => table(before), { refetchKeySet }).check({ headers: [bearer(token)] })
      const mine = timers.mock.results[timers.mock.calls.findIndex(([, ms]) => Number(ms) > 900)]
      expect(cleared).toHaveBeenCalledWith(mine?.value)
      timers.mockClear()
      cleared.mockClear()
    }
    vi.restoreAllMocks()
  })

  test('is not looked up for a token that would be refused anyway', async () => {
    const refetchKeySet = vi.fn(() => Promise.resolve(FETCHED))
    const { check } = checker(() => table(before), { refetchKeySet })
    await check({ headers: [bearer(await sign(after, { exp: NOW - 999 }))] })
    await check({ headers: [bearer(await sign(after, { iss: 'https://evil.example' }))] })
    await check({ headers: [bearer(await sign(after, { aud: 'someone' }))] })
    expect(refetchKeySet).not.toHaveBeenCalled()
  })

  test('in an inline key set is refused at once', async () => {
    const refetchKeySet = vi.fn(() => Promise.resolve(FETCHED))
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

  test('waits a second for a provider that hangs, then may come again', async () => {
    const token = await sign(after)
    vi.useFakeTimers()
    const { check, observed } = checker(() => table(before), { refetchKeySet: never })
    const answer = check({ headers: [bearer(token)] })
    let answered = false
    void answer.then(() => (answered = true))
    await vi.advanceTimersByTimeAsync(999)
    expect(answered).toBe(false)
    await vi.advanceTimersByTimeAsync(1)
    expect(await answer).toMatchObject({ status: 503, headers: { 'retry-after': '1' } })
    expect(observed.decisions[0]?.reason).toBe('key-not-looked-up')
    expect(vi.getTimerCount()).toBe(0)
  })

  test('may come again when the fetch fails, in whatever way', async () => {
    const token = await sign(after)
    const failures: (() => Promise<KeySetFetch>)[] = [
      () => Promise.reject(new Error('refused')),
      () => Promise.reject(new TypeError('secret-in-message')),
      () => Promise.resolve({ isAnswered: false, isOlder: false }),
    ]
    for (const refetchKeySet of failures) {
      const { check, observed } = checker(() => table(before), { refetchKeySet })
      for (let i = 0; i < 2; i++)
        expect(await check({ headers: [bearer(token)] })).toMatchObject({
          status: 503,
          headers: { 'retry-after': '1' },
        })
      expect(JSON.stringify(observed.lines)).not.toContain('secret-in-message')
    }
  })

  test('that is not in the fetch under way is looked for in the next', async () => {
    let current = table(before)
    let fetches = 0
    const { check } = checker(() => current, {
      refetchKeySet: () => {
        fetches += 1
        if (fetches === 1) return Promise.resolve({ isAnswered: true, isOlder: true })
        current = table(before, after)
        return Promise.resolve(FETCHED)
      },
    })
    expect((await check({ headers: [bearer(await sign(after))] })).status).toBe(200)
    expect(fetches).toBe(2)
  })

  describe('that the provider does not have', () => {
    let now: number
    let answers: number
    let fetches: number
    let retired: string
    let check: ReturnType<typeof checker>['check']

    beforeEach(async () => {
      ;[now, answers, fetches] = [NOW * 1000, 1, 0]
      retired = await sign(after)
      ;({ check } = checker(() => table(before), {
        now: () => now,
        keySetAnswers: () => answers,
        refetchKeySet: () => {
          fetches += 1
          return Promise.resolve(FETCHED)
        },
      }))
    })

    const ask = async (token: string): Promise<number> =>
      (await check({ headers: [bearer(token)] })).status

    test('costs one look, and others theirs', async () => {
      for (let i = 0; i < 20; i++) expect(await ask(retired)).toBe(401)
      expect(fetches).toBe(1)
      const other = await signingKey('RS256', 'other')
      expect(await ask(await sign(other))).toBe(401)
      expect(fetches).toBe(2)
    })

    test('is looked for again after any newer answer', async () => {
      await ask(retired)
      answers += 1
      await ask(retired)
      expect(fetches).toBe(2)
    })

    test('is looked for again after 30 s, and when the clock was set back', async () => {
      await ask(retired)
      now += 29_999
      await ask(retired)
      expect(fetches).toBe(1)
      now += 1
      await ask(retired)
      expect(fetches).toBe(2)
      now -= 1000
      await ask(retired)
      expect(fetches).toBe(3)
    })
  })

  test('is refused at once where a thousand wait already', async () => {
    const token = bearer(await sign(after))
    const { check } = checker(() => table(before), { refetchKeySet: never })
    vi.useFakeTimers()
    const waiting = Array.from({ length: 1000 }, () => check({ headers: [token] }))
    expect((await check({ headers: [token] })).status).toBe(503)
    await vi.advanceTimersByTimeAsync(1000)
    expect(new Set((await Promise.all(waiting)).map(({ status }) => status))).toEqual(
      new Set([503]),
    )
    expect(vi.getTimerCount()).toBe(0)
  })

  test('is refused at once where bodies of 64 MiB wait already, until they are given back', async () => {
    const headers = [bearer(await sign(after))]
    const body = new Uint8Array(1024 * 1024)
    let fetches = 0
    const { check } = checker(() => table(before), {
      refetchKeySet: () => {
        fetches += 1
        return never()
      },
    })
    vi.useFakeTimers()
    for (const round of [1, 2]) {
      const waiting = Array.from({ length: 64 }, () => check({ headers, body }))
      expect((await check({ headers, body })).status).toBe(503)
      const small = check({ headers })
      expect(fetches).toBe(round * 65)
      await vi.advanceTimersByTimeAsync(1000)
      await Promise.all([...waiting, small])
    }
  })

  test('gets in where a thousand wait for the keys of another provider', async () => {
    const keys = available(before.jwk)
    if (keys.state !== 'available') throw new Error('no keys')
    const source = { type: 'remote', id: 'set-2', url: 'https://other.example/jwks' } as const
    const hanging = entry({ key: 'other', jwt: jwt({ ...keys, source }) })
    const own = (key: SigningKey) => entry({ jwt: jwt(available(key.jwk)) })
    let current = buildAuthzTable([hanging, own(before)])
    const { check } = checker(() => current, {
      refetchKeySet: (id) => {
        if (id === 'set-2') return never()
        current = buildAuthzTable([hanging, own(after)])
        return Promise.resolve(FETCHED)
      },
    })
    const token = bearer(await sign(after))
    vi.useFakeTimers()
    const waiting = Array.from({ length: 1000 }, () => check({ key: 'other', headers: [token] }))
    expect((await check({ headers: [token] })).status).toBe(200)
    await vi.advanceTimersByTimeAsync(1000)
    await Promise.all(waiting)
  })

  test('is refused when the route has lost its authentication, or itself, meanwhile', async () => {
    const token = await sign(after)
    for (const next of [[], [entry({})]]) {
      let current = table(before)
      const { check } = checker(() => current, {
        refetchKeySet: () => {
          current = buildAuthzTable(next)
          return Promise.resolve(FETCHED)
        },
      })
      expect((await check({ headers: [bearer(token)] })).status).toBe(401)
    }
  })
})

// The store's contents while providers appear, disappear, rotate and serve false keys; the test controls time.

import { describe, expect, test } from 'vitest'
import { answer, failure, keySet, type TestStore, testStore, wantKeySet } from './support/store.js'

const URL = 'https://idp.example/keys'
const known = (store: TestStore) => store.state().get('keys')

/** A store that has fetched the key set "a". */
async function ready(...options: Parameters<typeof testStore>) {
  const store = testStore(...options)
  store.replies.set(URL, answer(keySet('a')))
  store.want([wantKeySet()])
  await store.advance(0)
  return store
}

describe('the first fetch', () => {
  test('is at once, and reports the document', async () => {
    const store = await ready()
    expect(known(store)).toEqual({ document: keySet('a'), fetchedAt: 1_000_000 })
    expect(store.changes).toEqual([store.state()])
    expect(store.fetches).toEqual(['success'])
  })

  test('is not reported from within want()', () => {
    const store = testStore()
    store.replies.set(URL, answer(keySet('a')))
    store.want([wantKeySet()])
    expect(store.changes).toEqual([])
  })

  test('that fails is tried again after 200 ms, doubling to 15 s, for ever', async () => {
    const store = testStore()
    store.replies.set(URL, failure())
    store.want([wantKeySet()])
    await store.advance(0)
    const gaps = [200, 400, 800, 1600, 3200, 6400, 12_800, 15_000, 15_000, 15_000]
    for (const [index, gap] of gaps.entries()) {
      await store.advance(gap - 1)
      expect(store.calls.length).toBe(index + 1)
      await store.advance(1)
      expect(store.calls.length).toBe(index + 2)
    }
    expect(known(store)).toEqual({
      error: 'no complete answer within 5000 ms',
      failedAt: 1_070_400,
    })
    expect(store.changes.length).toBe(1)
  })

  test('that arrives late is reported when it arrives', async () => {
    const store = testStore()
    store.replies.set(URL, failure())
    store.want([wantKeySet()])
    await store.advance(20_000)
    store.replies.set(URL, answer(keySet('a')))
    await store.advance(15_000)
    expect(known(store)?.document).toEqual(keySet('a'))
    expect(known(store)?.error).toBeUndefined()
    expect(store.changes.length).toBe(2)
  })
})

describe('refresh', () => {
  test.each([
    [undefined, 300_000],
    ['public, max-age=120', 120_000],
    ['max-age="90"', 90_000],
    ['max-age=1', 60_000],
    ['max-age=0', 60_000],
    ['no-store', 60_000],
    ['No-Cache, max-age=200', 60_000],
    ['max-age=86400', 300_000],
    ['max-age=nonsense', 300_000],
    ['s-maxage=10', 300_000],
  ])('Cache-Control %j: after %i ms', async (cacheControl, ms) => {
    const store = testStore()
    const headers = cacheControl === undefined ? undefined : { 'cache-control': cacheControl }
    store.replies.set(URL, answer(keySet('a'), 200, headers))
    store.want([wantKeySet()])
    await store.advance(ms - 1)
    expect(store.calls.length).toBe(1)
    await store.advance(1)
    expect(store.calls.length).toBe(2)
  })

  test('the same content is no change, stays the same object, and is fresh', async () => {
    const store = await ready()
    const before = known(store)
    await store.advance(300_000)
    expect(store.fetches).toEqual(['success', 'success'])
    expect(store.changes.length).toBe(1)
    expect(known(store)?.document).toBe(before?.document)
    expect(known(store)?.fetchedAt).toBe(1_300_000)
    expect(before?.fetchedAt).toBe(1_000_000)
  })

  test('rotated keys are reported in a new state', async () => {
    const store = await ready()
    const before = store.state()
    store.replies.set(URL, answer(keySet('b')))
    await store.advance(300_000)
    expect(known(store)?.document).toEqual(keySet('b'))
    expect(before.get('keys')?.document).toEqual(keySet('a'))
    expect(store.changes).toEqual([before, store.state()])
  })

  test('an empty set revokes every key', async () => {
    const store = await ready()
    store.replies.set(URL, answer({ keys: [] }))
    await store.advance(300_000)
    expect(known(store)).toEqual({ document: { keys: [] }, fetchedAt: 1_300_000 })
    expect(store.changes.length).toBe(2)
  })
})

describe('what never replaces the last good document', () => {
  test.each([
    ['a failed call', failure(), 'no complete answer within 5000 ms'],
    ['a missing page', answer('secret', 404), 'HTTP 404'],
    ['an error with a key set in it', answer(keySet('evil'), 500), 'HTTP 500'],
    ['a created one', answer(keySet('evil'), 201), 'HTTP 201'],
    ['nothing', answer(''), 'the answer is not JSON'],
    ['garbage', answer('<html>secret'), 'the answer is not JSON'],
    ['bytes', answer('\ufffe\u0000'), 'the answer is not JSON'],
    ['a list', answer('[]'), 'the answer is not a JSON object'],
    ['null', answer('null'), 'the answer is not a JSON object'],
    [
      'half a megabyte of brackets',
      answer(`{"keys":[],"x":${'['.repeat(500_000)}${']'.repeat(500_000)}}`),
      'the answer is nested too deeply, or holds too many values',
    ],
    [
      'a third of a megabyte of empty objects',
      answer(`{"keys":[${'{},'.repeat(100_000)}{}]}`),
      'the answer is nested too deeply, or holds too many values',
    ],
    ['a string', answer('"secret"'), 'the answer is not a JSON object'],
    ['no keys', answer({}), 'the answer is not a key set: "keys" is not an array of objects'],
    [
      'null keys',
      answer({ keys: null }),
      'the answer is not a key set: "keys" is not an array of objects',
    ],
    [
      'keys as map',
      answer({ keys: {} }),
      'the answer is not a key set: "keys" is not an array of objects',
    ],
    [
      'strings',
      answer({ keys: ['a'] }),
      'the answer is not a key set: "keys" is not an array of objects',
    ],
    [
      'a null key',
      answer({ keys: [null] }),
      'the answer is not a key set: "keys" is not an array of objects',
    ],
    [
      'nested lists',
      answer({ keys: [[]] }),
      'the answer is not a key set: "keys" is not an array of objects',
    ],
  ])('%s', async (_, reply, error) => {
    const store = await ready()
    const lastGood = known(store)?.document
    store.replies.set(URL, reply)
    await store.advance(300_000)
    expect(known(store)).toEqual({
      document: lastGood,
      fetchedAt: 1_000_000,
      error,
      failedAt: 1_300_000,
    })
    expect(store.fetches.at(-1)).toBe('failure')
    expect(JSON.stringify(store.logs)).not.toContain('secret')
  })

  test('but not one with an entry that is no key: the others are in use', async () => {
    const store = await ready()
    const odd = { keys: [null, 'a', [], { kid: 'b', kty: 'RSA' }] }
    store.replies.set(URL, answer(odd))
    await store.advance(300_000)
    expect(known(store)?.document).toEqual(odd)
    expect(known(store)?.error).toBeUndefined()
  })

  test('it is kept for ever, and fresh again at the first success', async () => {
    const store = await ready()
    store.replies.set(URL, failure())
    await store.advance(7 * 24 * 3_600_000)
    expect(known(store)?.document).toEqual(keySet('a'))
    store.replies.set(URL, answer(keySet('a')))
    await store.advance(15_000)
    expect(known(store)?.error).toBeUndefined()
    expect(store.changes.length).toBe(3)
  })
})

describe('--jwks-max-stale', () => {
  test('ends the use of keys whose provider is away, on time', async () => {
    const store = await ready({ maxStaleMs: 600_000 })
    store.replies.set(URL, failure())
    await store.advance(599_999)
    expect(known(store)?.document).toEqual(keySet('a'))
    await store.advance(1)
    expect(known(store)).toEqual({
      fetchedAt: 1_000_000,
      failedAt: 1_600_000,
      error: 'no complete answer within 5000 ms',
    })
    expect(store.changes.at(-1)?.get('keys')?.document).toBeUndefined()
    store.replies.set(URL, answer(keySet('a')))
    await store.advance(15_000)
    expect(known(store)?.document).toEqual(keySet('a'))
  })

  test('ends it on time although the fetch hangs, or waits in line behind others that do', async () => {
    const store = await ready({ maxStaleMs: 600_000, maxFetches: 1 })
    store.want([wantKeySet(), wantKeySet('other')])
    await store.advance(599_999)
    expect(known(store)).toEqual({ document: keySet('a'), fetchedAt: 1_000_000 })
    await store.advance(1)
    expect(known(store)).toEqual({ fetchedAt: 1_000_000, error: 'no answer came in time' })
    expect(store.changes.at(-1)).toBe(store.state())
    expect(store.logs.at(-1)?.fields).toMatchObject({ lastGood: false })
    expect(store.fetches).toEqual(['success'])
    await store.close()
    expect(store.pending()).toBe(0)
  })

  test('may be longer than a timer can be', async () => {
    const set: number[] = []
    const startTimer = (_: unknown, ms: number) => {
      set.push(ms)
      return () => undefined
    }
    const store = await ready({ maxStaleMs: 30 * 24 * 3_600_000, startTimer })
    void store.refetch('keys')
    expect(Math.max(...set)).toBeLessThan(2 ** 31)
    await store.close()
  })

  test('is over for none that is renewed at its very end', async () => {
    const store = await ready({ maxStaleMs: 60_000 })
    await store.advance(600_000)
    expect(store.changes.length).toBe(1)
  })

  test('keys of a provider that answers are renewed before', async () => {
    const store = await ready({ maxStaleMs: 180_000 })
    await store.advance(3_600_000)
    expect(store.changes.length).toBe(1)
    expect(store.calls.length).toBe(41)
  })
})

describe('the log', () => {
  test('speaks of the first failure, of another error and of recovery, not of each retry', async () => {
    const store = await ready()
    store.replies.set(URL, failure())
    await store.advance(400_000)
    store.replies.set(URL, answer('', 503))
    await store.advance(100_000)
    store.replies.set(URL, answer(keySet('a')))
    await store.advance(100_000)
    expect(store.logs.map(({ level, fields }) => [level, fields.url, fields.error])).toEqual([
      ['warn', URL, 'no complete answer within 5000 ms'],
      ['warn', URL, 'HTTP 503'],
      ['info', URL, undefined],
    ])
    expect(store.changes.length).toBe(4)
  })
})

describe('close', () => {
  test('leaves no timer and no call', async () => {
    const store = await ready()
    store.want([wantKeySet(), wantKeySet('slow')])
    await store.advance(0)
    expect([store.pending(), store.open()]).toEqual([1, 1])
    await store.close()
    expect([store.pending(), store.open()]).toEqual([0, 0])
    await store.advance(3_600_000)
    expect(store.calls.length).toBe(2)
    expect(store.changes.length).toBe(1)
  })
})

test('a listener that throws does not end the refresh', async () => {
  let calls = 0
  const store = await ready({
    onChange: () => {
      calls += 1
      throw new Error('bug')
    },
  })
  store.replies.set(URL, answer(keySet('b')))
  await store.advance(300_000)
  expect(calls).toBe(2)
  expect(store.logs.map(({ level }) => level)).toEqual(['error', 'error'])
})

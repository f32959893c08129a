// What the store knows while providers come, go, rotate and lie: time is the test's own.

import { describe, expect, test } from 'vitest'
import {
  answer,
  failure,
  keySet,
  testStore,
  wantDiscovery,
  wantKeySet,
  type TestStore,
} from './support/store.js'

const URL = 'https://idp.example/keys'
const known = (store: TestStore) => store.state().get('keys')

/** A store that has fetched the key set "a". */
const ready = async (...options: Parameters<typeof testStore>) => {
  const store = testStore(...options)
  store.replies.set(URL, answer(keySet('a')))
  store.want([wantKeySet()])
  await store.advance(0)
  return store
}

describe('the first fetch', () => {
  test('is at once, and tells of the document', async () => {
    const store = await ready()
    expect(known(store)).toEqual({ document: keySet('a'), fetchedAt: 1_000_000 })
    expect(store.changes).toEqual([store.state()])
    expect(store.fetches).toEqual(['success'])
  })

  test('is not told of from within want()', () => {
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
    expect(known(store)).toEqual({ error: 'no complete answer within 5000 ms' })
    expect(store.changes.length).toBe(1)
  })

  test('that comes late is told of when it comes', async () => {
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

  test('rotated keys are told of, in a new state', async () => {
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
      'the answer is nested too deeply',
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
    expect(known(store)).toEqual({ document: lastGood, fetchedAt: 1_000_000, error })
    expect(store.fetches.at(-1)).toBe('failure')
    expect(JSON.stringify(store.logs)).not.toContain('secret')
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
      error: 'no complete answer within 5000 ms',
    })
    expect(store.changes.at(-1)?.get('keys')?.document).toBeUndefined()
    store.replies.set(URL, answer(keySet('a')))
    await store.advance(15_000)
    expect(known(store)?.document).toEqual(keySet('a'))
  })

  test('keys of a provider that answers are renewed before', async () => {
    const store = await ready({ maxStaleMs: 180_000 })
    await store.advance(3_600_000)
    expect(store.changes.length).toBe(1)
    expect(store.calls.length).toBe(41)
  })
})

describe('several targets', () => {
  const urls = ['https://idp.example/first', 'https://idp.example/second'] as const
  const discovery = { issuer: 'https://idp.example' }
  const store = async (...replies: Parameters<TestStore['replies']['set']>[1][]) => {
    const own = testStore()
    urls.forEach((url, index) => own.replies.set(url, replies[index] ?? failure()))
    own.want([wantDiscovery('keys', ...urls)])
    await own.advance(0)
    return own
  }

  test('the first that answers with a document counts', async () => {
    const own = await store(answer(discovery), answer({ issuer: 'https://other.example' }))
    expect(known(own)?.document).toEqual(discovery)
    expect(own.calls).toEqual([urls[0]])
  })

  test.each([
    ['400', answer('', 400)],
    ['401', answer('', 401)],
    ['404', answer('', 404)],
    ['410', answer('', 410)],
    ['501', answer('', 501)],
    ['a web page', answer('<html>')],
    ['another kind of document', answer({ keys: [] })],
    ['a redirect', failure({ type: 'redirect', status: 302 })],
  ])('after %s comes the next', async (_, reply) => {
    const own = await store(reply, answer(discovery))
    expect(known(own)?.document).toEqual(discovery)
    expect(known(own)?.error).toBeUndefined()
    expect(own.calls).toEqual([...urls])
  })

  test('when none does, the reason of each is told', async () => {
    const own = await store(answer('', 404), answer({ issuer: 7 }))
    expect(known(own)?.error).toBe(
      'https://idp.example/first: HTTP 404; https://idp.example/second: the answer is not a discovery document: "issuer" is not a string',
    )
    expect(own.fetches).toEqual([])
  })
})

describe('an extra fetch for an unknown kid', () => {
  test('brings rotated keys at once, and is shared by all who wait', async () => {
    const store = await ready()
    store.replies.set(URL, answer(keySet('b')))
    await Promise.all([store.refetch('keys'), store.refetch('keys'), store.refetch('keys')])
    expect(known(store)?.document).toEqual(keySet('b'))
    expect(store.calls.length).toBe(2)
  })

  test('comes at most every 10 s, however often it is asked for', async () => {
    const store = await ready()
    for (let second = 0; second < 30; second += 1) {
      await store.refetch('keys')
      await store.advance(1000)
    }
    expect(store.calls.length).toBe(1 + 3)
  })

  test('also while the provider is away', async () => {
    const store = await ready()
    store.replies.set(URL, failure())
    await store.refetch('keys')
    for (let times = 0; times < 100; times += 1) await store.refetch('keys')
    expect(store.calls.length).toBe(2)
    expect(known(store)?.document).toEqual(keySet('a'))
  })

  test('is not held up by a clock that was set back', async () => {
    let now = 1_000_000
    const store = await ready({ now: () => now })
    await store.refetch('keys')
    now -= 3_600_000
    await store.refetch('keys')
    expect(store.calls.length).toBe(3)
  })

  test('does not come beside one that is under way', async () => {
    const store = testStore()
    store.want([wantKeySet()])
    await store.advance(0)
    let done = false
    const waiting = store.refetch('keys').then(() => (done = true))
    await store.advance(0)
    expect([store.calls.length, done]).toEqual([1, false])
    await store.close()
    await waiting
  })

  test('moves the refresh, so that the two do not add up', async () => {
    const store = await ready()
    await store.advance(200_000)
    await store.refetch('keys')
    await store.advance(299_999)
    expect(store.calls.length).toBe(2)
    expect(store.pending()).toBe(1)
  })

  test('of something that nobody wants is nothing', async () => {
    const store = await ready()
    await store.refetch('other')
    expect(store.calls.length).toBe(1)
  })
})

describe('what is wanted', () => {
  test('a document that is not wanted any more is forgotten, and its call given up', async () => {
    const store = testStore()
    store.want([wantKeySet('keys'), wantKeySet('other')])
    await store.advance(0)
    expect(store.open()).toBe(2)
    store.want([wantKeySet('other')])
    await store.advance(0)
    expect(store.open()).toBe(1)
    expect([...store.state().keys()]).not.toContain('keys')
    expect(store.changes).toEqual([])
  })

  test('wanting the same again changes nothing', async () => {
    const store = await ready()
    store.want([wantKeySet()])
    await store.advance(1000)
    expect(store.calls.length).toBe(1)
    expect(known(store)?.document).toEqual(keySet('a'))
  })

  test('other targets are fetched at once; the last good document stays until they answer', async () => {
    const store = await ready()
    store.want([wantKeySet('keys', 'https://idp.example/moved')])
    await store.advance(0)
    expect(known(store)?.document).toEqual(keySet('a'))
    expect(store.calls.at(-1)).toBe('https://idp.example/moved')
    // While that call hangs, the target moves again.
    store.replies.set('https://idp.example/again', answer(keySet('b')))
    store.want([wantKeySet('keys', 'https://idp.example/again')])
    await store.advance(0)
    expect(known(store)?.document).toEqual(keySet('b'))
    expect(store.open()).toBe(0)
    expect(store.pending()).toBe(1)
  })

  test('no more than so many are fetched at a time', async () => {
    const store = testStore({ maxFetches: 2 })
    store.want(['a', 'b', 'c', 'd'].map((id) => wantKeySet(id)))
    await store.advance(0)
    expect(store.calls.length).toBe(2)
    store.want([wantKeySet('b'), wantKeySet('c'), wantKeySet('d')])
    await store.advance(0)
    expect(store.calls).toEqual(['a', 'b', 'c'].map((id) => `https://idp.example/${id}`))
    await store.close()
    expect(store.open()).toBe(0)
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

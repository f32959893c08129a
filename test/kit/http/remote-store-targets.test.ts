// What the store fetches and from where, and what an unknown kid makes it fetch; the test controls time.

import { describe, expect, test } from 'vitest'
import type { UpstreamTls } from '../../../src/model/destination.js'
import type { WantedDocument } from '../../../src/model/remote-target.js'
import {
  answer,
  failure,
  keySet,
  type TestStore,
  testStore,
  wantDiscovery,
  wantKeySet,
} from './support/store.js'

const URL = 'https://idp.example/keys'
/** authorities: "System", or what stands for a certificate. */
function trusting(authorities: string, ...urls: string[]): WantedDocument {
  const tls: UpstreamTls = {
    hostname: 'idp.example',
    subjectAltNames: [],
    authorities: authorities === 'System' ? 'System' : { pem: authorities },
  }
  const { targets, ...rest } = wantKeySet('keys', ...urls)
  return { ...rest, targets: targets.map((target) => ({ ...target, tls })) }
}
const known = (store: TestStore) => store.state().get('keys')

/** A store that has fetched the key set "a". */
async function ready(...options: Parameters<typeof testStore>) {
  const store = testStore(...options)
  store.replies.set(URL, answer(keySet('a')))
  store.want([wantKeySet()])
  await store.advance(0)
  return store
}

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

  test('when none does, the reason of each is reported', async () => {
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
    await store.advance(1000)
    store.replies.set(URL, answer(keySet('b')))
    await Promise.all([store.refetch('keys'), store.refetch('keys'), store.refetch('keys')])
    expect(known(store)?.document).toEqual(keySet('b'))
    expect(store.calls.length).toBe(2)
  })

  test('comes about once a second, however often it is asked for', async () => {
    const store = await ready()
    const waiting: Promise<unknown>[] = []
    for (let tenth = 0; tenth < 100; tenth += 1) {
      waiting.push(store.refetch('keys'), store.refetch('keys'))
      await store.advance(100)
    }
    await store.advance(1000)
    expect(await Promise.all(waiting)).toContainEqual({ isAnswered: true, isOlder: false })
    expect(store.calls.length).toBeGreaterThanOrEqual(10)
    expect(store.calls.length).toBeLessThanOrEqual(1 + 12)
  })

  test('also while the provider is away, and says so', async () => {
    const store = await ready()
    store.replies.set(URL, failure())
    await store.advance(1000)
    expect(await store.refetch('keys')).toEqual({ isAnswered: false, isOlder: false })
    expect(known(store)?.document).toEqual(keySet('a'))
    expect(store.answers('keys')).toBe(1)
  })

  test('that is waited for ends with the store', async () => {
    const store = await ready()
    const waiting = store.refetch('keys')
    await store.close()
    expect(await waiting).toEqual({ isAnswered: false, isOlder: false })
  })

  test('is not held up by a clock that was set back', async () => {
    let now = 1_000_000
    const store = await ready({ now: () => now })
    now += 1000
    await store.refetch('keys')
    now -= 3_600_000
    await store.refetch('keys')
    expect(store.calls.length).toBe(3)
  })

  test('that only waited for one under way leaves the extra one for later', async () => {
    const store = testStore()
    store.want([wantKeySet()])
    await store.advance(0)
    const waiting = store.refetch('keys')
    store.replies.set('https://idp.example/moved', answer(keySet('b')))
    store.want([wantKeySet('keys', 'https://idp.example/moved')])
    expect(await waiting).toEqual({ isAnswered: true, isOlder: true })
    await store.advance(1000)
    await store.refetch('keys')
    expect(store.calls.length).toBe(3)
  })

  test('does not wait for providers that hang', async () => {
    const store = await ready({ maxFetches: 2 })
    store.want([wantKeySet(), ...['a', 'b', 'c'].map((id) => wantKeySet(id))])
    await store.advance(0)
    expect(store.open()).toBe(2)
    await store.advance(1000)
    store.replies.set(URL, answer(keySet('b')))
    await store.refetch('keys')
    expect(known(store)?.document).toEqual(keySet('b'))
    await store.close()
  })

  test('does not wait behind providers that hang while the refresh does', async () => {
    const store = await ready({ maxFetches: 2 })
    store.want([wantKeySet(), wantKeySet('a'), wantKeySet('b')])
    await store.advance(400_000)
    // The refresh is due, and waits for its turn.
    expect(store.calls.filter((url) => url === URL)).toHaveLength(1)
    store.replies.set(URL, answer(keySet('b')))
    const waiting = [store.refetch('keys'), store.refetch('keys')]
    await store.advance(0)
    expect(known(store)?.document).toEqual(keySet('b'))
    const fresh = { isAnswered: true, isOlder: false }
    expect(await Promise.all(waiting)).toEqual([fresh, { ...fresh, isOlder: true }])
    const calls = store.calls.length
    const next = store.refetch('keys')
    await store.advance(899)
    expect(store.calls).toHaveLength(calls)
    await store.advance(1)
    expect(await next).toEqual(fresh)
    await store.close()
  })

  test('does not wait behind a hundred others that hang', async () => {
    const store = await ready()
    const others = Array.from({ length: 150 }, (_, index) => `other${String(index)}`)
    const urls = others.map((id) => `https://idp.example/${id}`)
    for (const url of urls) store.replies.set(url, answer(keySet('a')))
    store.want([wantKeySet(), ...others.map((id) => wantKeySet(id))])
    await store.advance(1000)
    for (const url of urls) store.replies.set(url, 'never')
    const hanging = others.map((id) => store.refetch(id))
    store.replies.set(URL, answer(keySet('b')))
    const waiting = store.refetch('keys')
    await store.advance(900)
    expect(known(store)?.document).toEqual(keySet('b'))
    expect(await waiting).toEqual({ isAnswered: true, isOlder: false })
    expect(store.open()).toBe(150)
    await store.close()
    await Promise.all(hanging)
    expect(store.pending()).toBe(0)
  })

  test('that takes the place of a waiting refresh leaves no turn taken', async () => {
    const store = await ready({ maxFetches: 1 })
    store.want([wantKeySet(), wantKeySet('a')])
    await store.advance(400_000)
    const waiting = store.refetch('keys')
    await store.advance(0)
    expect(await waiting).toEqual({ isAnswered: true, isOlder: false })
    store.want([wantKeySet(), wantKeySet('c')])
    store.replies.set('https://idp.example/c', answer(keySet('c')))
    await store.advance(0)
    expect(store.state().get('c')?.document).toEqual(keySet('c'))
    expect(store.open()).toBe(0)
    await store.close()
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

  test('of an unwanted document does nothing', async () => {
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

  test('endpoints that change leave a good document alone until its refresh', async () => {
    const store = await ready()
    store.want([wantKeySet('keys', 'https://idp.example/moved')])
    await store.advance(299_999)
    expect([store.calls.length, known(store)?.document]).toEqual([1, keySet('a')])
    await store.advance(1)
    expect(store.calls.at(-1)).toBe('https://idp.example/moved')
  })

  test('endpoints that change while the provider is away are asked at once', async () => {
    const store = await ready()
    store.replies.set(URL, failure())
    await store.advance(400_000)
    store.replies.set('https://idp.example/moved', answer(keySet('b')))
    store.want([wantKeySet('keys', 'https://idp.example/moved')])
    await store.advance(0)
    expect(known(store)?.document).toEqual(keySet('b'))
    expect(store.pending()).toBe(1)
  })

  test('endpoints that change while a call hangs are asked instead', async () => {
    const store = testStore()
    store.replies.set('https://idp.example/moved', answer(keySet('b')))
    store.want([wantKeySet()])
    await store.advance(0)
    expect(store.open()).toBe(1)
    store.want([wantKeySet('keys', 'https://idp.example/moved')])
    await store.advance(0)
    expect(known(store)).toEqual({ document: keySet('b'), fetchedAt: 1_000_000 })
    expect([store.open(), store.pending()]).toEqual([0, 1])
  })

  test('authorities that change are asked at once, and the document stays in force until they answer', async () => {
    const store = await ready()
    store.want([trusting('one')])
    await store.advance(1000)
    const calls = store.calls.length
    store.replies.set(URL, 'never')
    store.want([trusting('other')])
    await store.advance(0)
    expect([store.calls.length, known(store)?.document]).toEqual([calls + 1, keySet('a')])
    store.replies.set(URL, failure())
    await store.advance(60_000)
    expect(known(store)?.document).toEqual(keySet('a'))
    await store.close()
  })

  test.each([
    ['begins', wantKeySet(), trusting('one')],
    ['ends', trusting('one'), wantKeySet()],
    ['has the authorities of the system instead', trusting('one'), trusting('System')],
  ])('a document is fetched at once when TLS %s', async (_, before, after) => {
    const store = await ready()
    store.want([before])
    await store.advance(1000)
    const calls = store.calls.length
    store.replies.set(URL, answer(keySet('b')))
    store.want([after])
    await store.advance(0)
    expect([store.calls.length, known(store)?.document]).toEqual([calls + 1, keySet('b')])
    expect(store.pending()).toBe(1)
  })

  test('the same authorities in another object fetch nothing, nor beside other endpoints', async () => {
    const store = await ready()
    store.want([trusting('one')])
    await store.advance(1000)
    const calls = store.calls.length
    store.want([trusting('one')])
    store.want([trusting('one', 'https://idp.example/moved')])
    await store.advance(1000)
    expect(store.calls.length).toBe(calls)
  })

  test('authorities that change while a fetch is told of are asked too', async () => {
    const store: TestStore = testStore({ onAnswer: () => store.want([trusting('one')]) })
    store.replies.set(URL, answer(keySet('a')))
    store.want([wantKeySet()])
    await store.advance(0)
    expect([store.calls.length, store.pending()]).toEqual([2, 1])
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

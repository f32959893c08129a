// Backend names are resolved in the background; the last good answers are kept, and a slow name does not delay others.

import type { LookupAddress } from 'node:dns'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createLimit } from '../../../src/kit/http/limit.js'
import { createNameStore, type NameStore } from '../../../src/kit/http/name-store.js'

type Answer = readonly string[] | Error | 'silence'

let answers: Map<string, Answer>
let asked: string[]
let changes: number
let log: string[]
let resolver: typeof lookup
let store: NameStore

function lookup(host: string): Promise<readonly LookupAddress[]> {
  asked.push(host)
  const answer = answers.get(host) ?? coded('ENOTFOUND')
  if (answer === 'silence') return new Promise(() => undefined)
  if (answer instanceof Error) return Promise.reject(answer)
  return Promise.resolve(answer.map((address) => ({ address, family: 4 })))
}

const coded = (code: string): Error => Object.assign(new Error(code), { code })

beforeEach(() => {
  vi.useFakeTimers()
  answers = new Map()
  asked = []
  changes = 0
  log = []
  const say = (_fields: object, message: string): void => void log.push(message)
  resolver = lookup
  store = createNameStore({
    lookup: (host) => resolver(host),
    logger: { debug: say, info: say, warn: say, error: say },
    onChange: () => (changes += 1),
    random: () => 0,
    startTimer: (callback, ms) => {
      const timer = setTimeout(callback, ms)
      return () => clearTimeout(timer)
    },
  })
})

afterEach(() => {
  store.close()
  expect(vi.getTimerCount()).toBe(0)
  vi.useRealTimers()
})

const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms)

describe('a wanted name', () => {
  test('is looked up at once, its addresses sorted, each once', async () => {
    answers.set('a.example', ['10.0.0.2', '10.0.0.1', '10.0.0.2'])
    store.want(['a.example'])
    expect(store.state().size).toBe(0)
    await pass(0)
    expect(store.state().get('a.example')).toEqual({ ips: ['10.0.0.1', '10.0.0.2'] })
    expect([changes, log]).toEqual([1, []])
  })

  test('is looked up again every 10 s; only another answer is a change', async () => {
    answers.set('a.example', ['10.0.0.1', '10.0.0.2'])
    store.want(['a.example'])
    await pass(0)
    const before = store.state()
    answers.set('a.example', ['10.0.0.2', '10.0.0.1'])
    await pass(10_000)
    expect(asked).toHaveLength(2)
    expect(store.state()).toBe(before)
    answers.set('a.example', ['127.0.0.1'])
    await pass(10_000)
    expect(store.state().get('a.example')).toEqual({ ips: ['127.0.0.1'] })
    expect(changes).toBe(2)
  })

  test('keeps its last good answer while it cannot be resolved, with pauses that grow', async () => {
    answers.set('a.example', ['10.0.0.1'])
    store.want(['a.example'])
    await pass(0)
    answers.set('a.example', coded('ESERVFAIL'))
    await pass(10_000)
    const error = 'the name a.example cannot be resolved (ESERVFAIL)'
    expect(store.state().get('a.example')).toEqual({ ips: ['10.0.0.1'], error })
    asked = []
    for (const pause of [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000])
      await pass(pause)
    expect(asked).toHaveLength(8)
    expect(log).toEqual(['a host name of a backend cannot be resolved, retrying'])
    answers.set('a.example', ['10.0.0.1'])
    await pass(60_000)
    expect(store.state().get('a.example')).toEqual({ ips: ['10.0.0.1'] })
    expect(log.at(-1)).toBe('a host name resolves again')
  })

  test('that was never resolved says why', async () => {
    answers.set('empty.example', [])
    store.want(['a.example', 'empty.example'])
    await pass(0)
    expect([...store.state().values()]).toEqual([
      { error: 'the name a.example cannot be resolved (ENOTFOUND)' },
      { error: 'the name empty.example cannot be resolved (ENODATA)' },
    ])
  })

  test('whose servers are silent fails after 5 s', async () => {
    answers.set('one.example', 'silence')
    store.want(['one.example'])
    await pass(4_999)
    expect(store.state().size).toBe(0)
    await pass(1)
    expect(store.state().get('one.example')).toEqual({
      error: 'the name one.example cannot be resolved (no answer)',
    })
  })

  test('that is not wanted any more is forgotten, and its late answer too', async () => {
    answers.set('a.example', ['10.0.0.1'])
    store.want(['a.example'])
    store.want([])
    await pass(60_000)
    expect([store.state().size, changes]).toEqual([0, 0])
    store.want(['a.example'])
    await pass(0)
    store.want([])
    expect(store.state().size).toBe(0)
    asked = []
    await pass(60_000)
    expect(asked).toEqual([])
  })
})

/** A resolver like Node's: two questions at a time, and one without an answer keeps its place for 10 s. */
function slowResolver(): typeof lookup {
  const limit = createLimit(2)
  return (host) =>
    limit(async () => {
      if (answers.get(host) !== 'silence') return lookup(host)
      await new Promise((resolve) => setTimeout(resolve, 10_000))
      throw coded('EAI_AGAIN')
    })
}

describe('beside 100 names whose servers are silent', () => {
  const silent = Array.from({ length: 100 }, (_, i) => `silent-${i}.example`)

  beforeEach(() => {
    resolver = slowResolver()
    for (const name of silent) answers.set(name, 'silence')
  })
  afterEach(async () => {
    store.close()
    // The resolver gives its last questions up.
    await pass(10_000)
  })

  test('a name that was resolved is looked up every 10 s all the same', async () => {
    answers.set('a.example', ['10.0.0.1'])
    store.want(['a.example'])
    await pass(0)
    store.want(['a.example', ...silent])
    for (let ip = 2; ip < 100; ip++) {
      answers.set('a.example', [`10.0.0.${ip}`])
      await pass(10_000)
      expect(store.state().get('a.example')).toEqual({ ips: [`10.0.0.${ip}`] })
    }
  })

  test('a new name is looked up before those that were silent are again', async () => {
    store.want(silent)
    await pass(1_000_000)
    answers.set('a.example', ['10.0.0.1'])
    store.want(['a.example', ...silent])
    await pass(10_000)
    expect(store.state().get('a.example')).toEqual({ ips: ['10.0.0.1'] })
  })

  test('calls of Gatehouse find a place', async () => {
    store.want(silent)
    answers.set('idp.example', ['10.0.0.9'])
    await pass(100)
    let found: readonly LookupAddress[] = []
    void resolver('idp.example').then((all) => (found = all))
    await pass(0)
    expect(found).toHaveLength(1)
  })
})

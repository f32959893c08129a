// Memos by object, attached to their subjects or not.

import { describe, expect, test } from 'vitest'
import { createAttachedMap } from '../../../src/kit/incremental/attached-map.js'
import { briefMemo, briefMemoWork, memo, memoWork } from '../../../src/kit/incremental/memo.js'
import { atOnce, type Work } from '../../../src/kit/turns.js'

interface Subject {
  readonly name: string
}

function* workOf(name: string): Work<string> {
  return name
}

const memos = {
  memo: (compute: (subject: Subject) => string) => memo(compute),
  briefMemo: (compute: (subject: Subject) => string) => briefMemo(compute),
  memoWork: (compute: (subject: Subject) => string) => {
    const work = memoWork((subject: Subject) => workOf(compute(subject)))
    return (subject: Subject) => atOnce(work(subject))
  },
  briefMemoWork: (compute: (subject: Subject) => string) => {
    const work = briefMemoWork((subject: Subject) => workOf(compute(subject)))
    return (subject: Subject) => atOnce(work(subject))
  },
}

describe.each(Object.entries(memos))('%s', (_, create) => {
  test('computes once for each object, and apart from other memos of the same object', () => {
    let computed = 0
    const upper = create(({ name }) => ((computed += 1), name.toUpperCase()))
    const twice = create(({ name }) => name + name)
    const [one, frozen] = [{ name: 'a' }, Object.freeze({ name: 'b' })]
    for (const subject of [one, frozen, one, frozen]) {
      expect(upper(subject)).toBe(subject.name.toUpperCase())
      expect(twice(subject)).toBe(subject.name + subject.name)
    }
    expect(computed).toBe(2)
  })

  test('leaves no trace on the object that a reader of its members could see', () => {
    const subject = { name: 'a' }
    create(({ name }) => name)(subject)
    expect(Reflect.ownKeys(subject)).toEqual(['name'])
    expect(structuredClone({ ...subject })).toStrictEqual({ name: 'a' })
    expect(JSON.stringify(subject)).toBe('{"name":"a"}')
  })
})

test('a copy of an object does not have its results', () => {
  let computed = 0
  const count = memo(() => (computed += 1))
  const subject = { name: 'a' }
  expect([count(subject), count({ ...subject }), count(structuredClone(subject))]).toEqual([
    1, 2, 3,
  ])
})

test('a result that is undefined is computed once', () => {
  let computed = 0
  const nothing = memo<Subject, undefined>(() => void (computed += 1))
  const subject = { name: 'a' }
  nothing(subject)
  nothing(subject)
  expect(computed).toBe(1)
})

test('an attached map replaces values, and arrays, maps and functions may be keys', () => {
  const map = createAttachedMap<object, string>()
  for (const key of [[1], new Map(), () => undefined, Object.create(null) as object]) {
    expect(map.get(key)).toBeUndefined()
    map.set(key, 'a')
    map.set(key, 'b')
    expect(map.get(key)).toBe('b')
  }
})

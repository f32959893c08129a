// Memo by object: keeps results of pure functions of immutable objects as long as the object lives. Unchanged parts of
// the model stay the same objects, so one change among thousands recomputes one result.

import type { Work } from '../turns.js'
import { type AttachedMap, createAttachedMap } from './attached-map.js'

/** A result, which may be undefined. */
interface Known<Value> {
  readonly value: Value
}

/** Returns the memoised function. compute must be pure. Results outlive the function: use briefMemo() if it is dropped. */
export const memo = <Subject extends object, Value>(
  compute: (subject: Subject) => Value,
): ((subject: Subject) => Value) => memoIn(createAttachedMap(), compute)

/** Like memo(), for a function that may be dropped before its subjects, such as one that depends on a set of names. */
export const briefMemo = <Subject extends object, Value>(
  compute: (subject: Subject) => Value,
): ((subject: Subject) => Value) => memoIn(new WeakMap(), compute)

function memoIn<Subject extends object, Value>(
  values: AttachedMap<Subject, Known<Value>> | WeakMap<Subject, Known<Value>>,
  compute: (subject: Subject) => Value,
): (subject: Subject) => Value {
  return (subject) => {
    const known = values.get(subject)
    if (known !== undefined) return known.value
    const value = compute(subject)
    values.set(subject, { value })
    return value
  }
}

/** Like memo(), for a function that depends on more than the subject. key must identify `more` completely. */
export function memoWith<Subject extends object, More, Value>(
  compute: (subject: Subject, more: More) => Value,
): (subject: Subject, more: More, key: string) => Value {
  const byKey = memo<Subject, Map<string, Known<Value>>>(() => new Map())
  return (subject, more, key) => {
    const values = byKey(subject)
    const known = values.get(key)
    if (known !== undefined) return known.value
    const value = compute(subject, more)
    values.set(key, { value })
    return value
  }
}

/** Like memo(), for work that yields. Only one caller may be at work at a time. */
export const memoWork = <Subject extends object, Value>(
  compute: (subject: Subject) => Work<Value>,
): ((subject: Subject) => Work<Value>) => memoWorkIn(createAttachedMap(), compute)

/** Like briefMemo(), for work that yields. */
export const briefMemoWork = <Subject extends object, Value>(
  compute: (subject: Subject) => Work<Value>,
): ((subject: Subject) => Work<Value>) => memoWorkIn(new WeakMap(), compute)

function memoWorkIn<Subject extends object, Value>(
  values: AttachedMap<Subject, Known<Value>> | WeakMap<Subject, Known<Value>>,
  compute: (subject: Subject) => Work<Value>,
): (subject: Subject) => Work<Value> {
  return function* (subject) {
    const known = values.get(subject)
    if (known !== undefined) return known.value
    const value = yield* compute(subject)
    values.set(subject, { value })
    return value
  }
}

/** Like memoWith(), for work that yields. */
export function memoWorkWith<Subject extends object, More, Value>(
  compute: (subject: Subject, more: More) => Work<Value>,
): (subject: Subject, more: More, key: string) => Work<Value> {
  const byKey = memo<Subject, Map<string, Known<Value>>>(() => new Map())
  return function* (subject, more, key) {
    const values = byKey(subject)
    const known = values.get(key)
    if (known !== undefined) return known.value
    const value = yield* compute(subject, more)
    values.set(key, { value })
    return value
  }
}

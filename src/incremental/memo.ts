// Memo by object: keeps results of pure functions of immutable objects as long as the object lives. Unchanged parts of
// the model stay the same objects, so one change among thousands recomputes one result.

import type { Work } from '../turns.js'

/** Returns the memoised function. compute must be pure. */
export function memo<Subject extends object, Value>(
  compute: (subject: Subject) => Value,
): (subject: Subject) => Value {
  const values = new WeakMap<Subject, { readonly value: Value }>()
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
  const byKey = memo<Subject, Map<string, { readonly value: Value }>>(() => new Map())
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
export function memoWork<Subject extends object, Value>(
  compute: (subject: Subject) => Work<Value>,
): (subject: Subject) => Work<Value> {
  const values = new WeakMap<Subject, { readonly value: Value }>()
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
  const byKey = memo<Subject, Map<string, { readonly value: Value }>>(() => new Map())
  return function* (subject, more, key) {
    const values = byKey(subject)
    const known = values.get(key)
    if (known !== undefined) return known.value
    const value = yield* compute(subject, more)
    values.set(key, { value })
    return value
  }
}

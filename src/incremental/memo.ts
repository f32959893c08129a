// Memo by object: the results of pure functions of immutable objects, kept as long as the object lives. An object of the
// model stays the same one while nothing in it changes, so that one change among thousands costs one.

/** compute, memoised. It must be pure. */
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

/** As memo(), of a function that depends on more than the subject: key says all of that, as a text. */
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

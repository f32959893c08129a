// What was made of an object of the model, remembered as long as the object lives: the model's objects are never
// mutated and stay the same while nothing in them changes, so that one change among thousands costs one.

/** compute must be pure. */
export const remembered = <Subject extends object, Value>(
  compute: (subject: Subject) => Value,
): ((subject: Subject) => Value) => {
  const values = new WeakMap<Subject, { readonly value: Value }>()
  return (subject) => {
    const known = values.get(subject)
    if (known !== undefined) return known.value
    const value = compute(subject)
    values.set(subject, { value })
    return value
  }
}

/** As remembered(), for what depends on more than the subject: key says all of that, as a text. */
export const rememberedWith = <Subject extends object, More, Value>(
  compute: (subject: Subject, more: More) => Value,
): ((subject: Subject, more: More, key: string) => Value) => {
  const byKey = remembered<Subject, Map<string, { readonly value: Value }>>(() => new Map())
  return (subject, more, key) => {
    const values = byKey(subject)
    const known = values.get(key)
    if (known !== undefined) return known.value
    const value = compute(subject, more)
    values.set(key, { value })
    return value
  }
}

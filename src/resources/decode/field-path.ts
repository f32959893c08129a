// The path of a field: as people write it, and what a plain value holds there.

export type FieldPath = readonly PropertyKey[]

/** ["spec", "rules", 0, "name"] → "spec.rules[0].name"; keys that are no plain words in brackets and quotes. */
export const formatPath = (path: FieldPath): string =>
  path
    .map((part, index) => {
      if (typeof part === 'number') return `[${part}]`
      const word = String(part)
      if (!/^[\w-]+$/.test(word)) return `[${JSON.stringify(word.slice(0, 80))}]`
      return index === 0 ? word : `.${word}`
    })
    .join('')

export type PlainMap = Readonly<Record<string, unknown>>

export const isMap = (value: unknown): value is PlainMap =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Own members only: what a document does not say is undefined. */
export const valueAt = (value: unknown, path: FieldPath): unknown =>
  path.reduce<unknown>(
    (inner, part) =>
      typeof inner === 'object' && inner !== null && Object.hasOwn(inner, part)
        ? (inner as Record<PropertyKey, unknown>)[part]
        : undefined,
    value,
  )

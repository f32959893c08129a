// Field paths: their notation, and the value at a path.

/** Path of a field in its document. */
export type FieldPath = readonly PropertyKey[]

/**
 * Formats a path: ["spec", "rules", 0, "name"] → "spec.rules[0].name". Brackets and quotes keys that are no plain
 * words.
 */
export const formatPath = (path: FieldPath): string =>
  path
    .map((part, index) => {
      if (typeof part === 'number') return `[${part}]`
      const word = String(part)
      if (!/^[\w-]+$/.test(word)) return `[${JSON.stringify(word.slice(0, 80))}]`
      return index === 0 ? word : `.${word}`
    })
    .join('')

/** An object that is not an array. */
export type PlainMap = Readonly<Record<string, unknown>>

/** Whether a value is an object and not an array. */
export const isMap = (value: unknown): value is PlainMap =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Returns the value at the path; undefined if absent. Inherited members do not count. */
export const valueAt = (value: unknown, path: FieldPath): unknown =>
  path.reduce<unknown>(
    (inner, part) =>
      typeof inner === 'object' && inner !== null && Object.hasOwn(inner, part)
        ? (inner as Record<PropertyKey, unknown>)[part]
        : undefined,
    value,
  )

// Field paths and their notation.

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

// Headers that a request has more than once: lists in expressions, and known as such wherever they are taken to.

const repeated = new WeakSet<object>()

export const isRepeatedHeader = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && repeated.has(value)

/** So that rules that compare one of them with a string fail instead of finding it unequal. */
export function markRepeated(headers: ReadonlyMap<string, string | readonly string[]>): void {
  for (const value of headers.values()) if (typeof value === 'object') repeated.add(value)
}

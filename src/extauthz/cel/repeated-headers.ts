// Marks the values of repeated headers, which are lists in expressions, so that any code can recognise them.

const repeated = new WeakSet<object>()

/** Whether the value is that of a repeated header. */
export const isRepeatedHeader = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && repeated.has(value)

/** Marks repeated headers, so that rules that compare one with a string fail instead of finding it unequal. */
export function markRepeated(headers: ReadonlyMap<string, string | readonly string[]>): void {
  for (const value of headers.values()) if (typeof value === 'object') repeated.add(value)
}

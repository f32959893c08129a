// Reads the parameters of a query or a form, none of which may be repeated (RFC 6749 section 3.1).

export type Parameters = ReadonlyMap<string, string>

const MAX_PARAMETERS = 64

/** The first repeated parameter, or "" if there are too many. Parameters without a value count as absent. */
export interface Repeated {
  readonly repeated: string
  /** The parameters that occur once. */
  readonly others: Parameters
}

export function readParameters(text: string): Parameters | Repeated {
  const all = new Map<string, string>()
  const twice = new Set<string>()
  let count = 0
  for (const [name, value] of new URLSearchParams(text)) {
    count += 1
    if (all.has(name)) twice.add(name)
    all.set(name, value)
  }
  const others = new Map([...all].filter(([name, value]) => value !== '' && !twice.has(name)))
  if (count > MAX_PARAMETERS) return { repeated: '', others: new Map() }
  const [repeated] = twice
  return repeated === undefined ? others : { repeated, others }
}

/** Returns the part of a path after the "?". */
export function queryOf(path: string): string {
  const at = path.indexOf('?')
  return at === -1 ? '' : path.slice(at + 1)
}

// Reads the parameters of a query or a form, none of which may be repeated (RFC 6749 section 3.1).

/** Parameters by name. */
export type Parameters = ReadonlyMap<string, string>

const MAX_PARAMETERS = 64

/** The first repeated parameter, or "" if there are too many. Parameters without a value count as absent. */
export interface Repeated {
  readonly repeated: string
  /** The parameters that occur once. */
  readonly others: Parameters
}

/** Reads the parameters of a query or a form. */
export function readParameters(text: string): Parameters | Repeated {
  if (hasTooMany(text)) return { repeated: '', others: new Map() }
  const all = new Map<string, string>()
  const twice = new Set<string>()
  for (const [name, value] of new URLSearchParams(text)) {
    if (all.has(name)) twice.add(name)
    all.set(name, value)
  }
  const others = new Map([...all].filter(([name, value]) => value !== '' && !twice.has(name)))
  const [repeated] = twice
  return repeated === undefined ? others : { repeated, others }
}

/** Whether there are too many parameters, counted without reading them: a form of 64 KiB can have thousands. */
function hasTooMany(text: string): boolean {
  let at = -1
  for (let count = 0; count < MAX_PARAMETERS; count++) {
    at = text.indexOf('&', at + 1)
    if (at === -1) return false
  }
  return true
}

/** Returns the words of a parameter that is a list, such as scope. */
export const words = (text: string | undefined): readonly string[] =>
  (text ?? '').split(' ').filter((word) => word !== '')

/** Returns the part of a path after the "?". */
export function queryOf(path: string): string {
  const at = path.indexOf('?')
  return at === -1 ? '' : path.slice(at + 1)
}

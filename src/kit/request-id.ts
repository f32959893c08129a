// Returns the id of a request with the answers of Gatehouse, also where Envoy does not add it: beside a mesh, and in an
// Envoy with its own configuration.

/** The header with the id that Envoy gives each request. */
export const REQUEST_ID = 'x-request-id'

/** A client may choose the id where Envoy lets it; what no id has is not returned. */
const IS_ID = /^[\w.:-]{1,128}$/

/** value: that of REQUEST_ID in a request. Returns the id; undefined: the request has none that could be returned. */
export function returnedId(value: string | readonly string[] | undefined): string | undefined {
  const [id, ...others] = typeof value === 'string' ? [value] : (value ?? [])
  return id !== undefined && others.length === 0 && IS_ID.test(id) ? id : undefined
}

// Reads from the headers of a request what a line of the decision log may show.

import type { Headers } from './process-message.js'

/** The parts of a request that lines show, and the headers in which credentials are looked for. */
interface LoggedRequest {
  readonly method: string
  readonly host: string
  readonly pathAndQuery: string
  readonly headers: ReadonlyMap<string, string | readonly string[]>
}

/** Returns the fields of a request that lines of the decision log may show. */
export function loggedRequest(headers: Headers): LoggedRequest {
  const read = (name: string): string => headers.get(name)?.[0] ?? ''
  const oneOrAll = (values: readonly string[]): string | readonly string[] => {
    const [first, ...others] = values
    return first !== undefined && others.length === 0 ? first : values
  }
  return {
    method: read(':method'),
    host: read(':authority'),
    pathAndQuery: read(':path'),
    headers: new Map([...headers].map(([name, values]) => [name, oneOrAll(values)])),
  }
}

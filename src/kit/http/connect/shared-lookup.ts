// Shares one pending lookup per name. The system's resolver runs few at once (two, in Node), and a lookup whose servers
// are silent takes half a minute: repeated ones after timeouts would block all other names.

import type { Lookup } from './resolve.js'

/** Returns a lookup that joins a pending one for the same name; answers are not cached. */
export function sharedLookup(lookup: Lookup): Lookup {
  const underWay = new Map<string, ReturnType<Lookup>>()
  return (host) => {
    const known = underWay.get(host)
    if (known !== undefined) return known
    const asked = lookup(host).finally(() => underWay.delete(host))
    underWay.set(host, asked)
    return asked
  }
}

// One question for a name at a time, however many ask: the system's resolver answers few at once (two, in Node), a name
// whose servers are silent takes it half a minute, and calls that time out and come again would leave all others no turn.

import type { Lookup } from './resolve.js'

/** Who asks while an answer is awaited gets that one; nothing is kept. */
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

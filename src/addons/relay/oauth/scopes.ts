// The scopes of a grant, by what its relay offers now: the policy may have been narrowed since the login.

import type { Relay } from '../../../model/relay.js'
import { words } from './parameters.js'

/** The scopes of a grant. */
export interface GrantScopes {
  readonly offered: readonly string[]
  /** Those that the relay offers no more. */
  readonly withdrawn: readonly string[]
}

/** Sorts the scopes that a user consented to. A relay that declares no scopes withdraws none. */
export function grantScopes({ scopes }: Pick<Relay, 'scopes'>, consented: string): GrantScopes {
  const all = words(consented)
  if (scopes.length === 0) return { offered: all, withdrawn: [] }
  const known = new Set(scopes)
  return {
    offered: all.filter((scope) => known.has(scope)),
    withdrawn: all.filter((scope) => !known.has(scope)),
  }
}

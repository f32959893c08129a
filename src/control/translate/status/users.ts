// Keeps the Gateways that use each backend between revisions: a change updates only the backends of changed chunks.

import { type Replacement, replacements } from '../../../kit/incremental/diff.js'
import { each, type Work } from '../../../kit/turns.js'
import type { GatewayName } from '../../../model/status.js'
import type { RouteChunk } from '../routes/route-chunks.js'
import { uniqueGateways } from '../world/world.js'

/** The Gateways whose routes, or policies on them, use a backend. */
export interface Users {
  /** target: a targetKey(). Returns the Gateways sorted by key. */
  of(target: string): readonly GatewayName[]
}

/** The Gateways that use each backend, kept up to date. */
export interface UsersOfAll extends Users {
  /** Replaces the chunks of the previous revision. */
  update(chunks: readonly RouteChunk[]): Work<void>
}

/** Creates an empty set of users. */
export function createUsers(): UsersOfAll {
  /** The lists of all chunks. Each list is that of one chunk alone. */
  const byTarget = new Map<string, Set<readonly GatewayName[]>>()
  let known: readonly RouteChunk[] = []
  const take = ({ before, now }: Replacement<RouteChunk>): void => {
    for (const [target, gateways] of before?.users ?? []) {
      if (now?.users.get(target) === gateways) continue
      const users = byTarget.get(target)
      users?.delete(gateways)
      if (users?.size === 0) byTarget.delete(target)
    }
  }
  const place = ({ before, now }: Replacement<RouteChunk>): void => {
    for (const [target, gateways] of now?.users ?? []) {
      if (before?.users.get(target) === gateways) continue
      const users = byTarget.get(target)
      if (users === undefined) byTarget.set(target, new Set([gateways]))
      else users.add(gateways)
    }
  }
  return {
    *update(chunks) {
      const replaced = replacements(known, chunks)
      yield* each(replaced, take)
      yield* each(replaced, place)
      known = chunks
    },
    of: (target) => uniqueGateways([...(byTarget.get(target) ?? [])].flat()),
  }
}

// Keeps the Gateways that use each backend between revisions: a change updates only the backends of changed chunks.

import { differences } from '../../incremental/diff.js'
import type { GatewayName } from '../../ir/status.js'
import { each, type Work } from '../../turns.js'
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
  const byTarget = new Map<string, Map<RouteChunk, readonly GatewayName[]>>()
  let known: readonly RouteChunk[] = []
  const take = (chunk: RouteChunk): void => {
    for (const target of chunk.users.keys()) {
      const users = byTarget.get(target)
      users?.delete(chunk)
      if (users?.size === 0) byTarget.delete(target)
    }
  }
  const place = (chunk: RouteChunk): void => {
    for (const [target, gateways] of chunk.users) {
      const users = byTarget.get(target)
      if (users === undefined) byTarget.set(target, new Map([[chunk, gateways]]))
      else users.set(chunk, gateways)
    }
  }
  return {
    *update(chunks) {
      const { removed, added } = differences(known, chunks)
      yield* each(removed, take)
      yield* each(added, place)
      known = chunks
    },
    of: (target) => uniqueGateways([...(byTarget.get(target)?.values() ?? [])].flat()),
  }
}

// Room that resources share, such as those of a namespace. Whoever comes first takes it: the oldest, as in all conflicts.

import type { Resource } from '../../schema/kinds/resources.js'
import { olderFirst } from './grouping.js'
import { keyOf } from './world.js'

/** Takes room if so much is left. */
export type Room = (size: number) => boolean

/** Creates room that is all left. */
export function createRoom(most: number): Room {
  let left = most
  return (size) => {
    if (size > left) return false
    left -= size
    return true
  }
}

/** A resource, and what it takes of the room of its namespace. */
export type Sized = readonly [resource: Resource<unknown>, size: number]

/** Returns the resources without room, by keyOf(). most: the room of each namespace. */
export function withoutRoom(sized: Iterable<Sized>, most: number): ReadonlyMap<string, true> {
  const rooms = new Map<string, Room>()
  const beyond = new Map<string, true>()
  for (const [resource, size] of [...sized].sort(([a], [b]) => olderFirst(a, b))) {
    const { namespace } = resource.metadata
    const room = rooms.get(namespace) ?? createRoom(most)
    rooms.set(namespace, room)
    if (!room(size)) beyond.set(keyOf(resource), true)
  }
  return beyond
}

// Forms: which members the objects of an API have, and what each of them holds (decision 19).

import type { ShapeName } from './shapes.js'

/**
 * inner: objects of the form. open: the same, with settings alone: what is odd in them is shown, not refused. result:
 * the same as inner, from a tool. text: a string that is text, whatever it looks like. texts: the same for every string
 * below. call, jsonCall: what a tool is called with. json: JSON from a tool, shown as JSON. file: media. definition:
 * definitions of tools. schema: JSON Schema. schemas: the same, by names that a client chooses. A shape: a setting, or an object that is open.
 */
export type Holds =
  | 'inner'
  | 'open'
  | 'result'
  | 'text'
  | 'texts'
  | 'call'
  | 'jsonCall'
  | 'json'
  | 'file'
  | 'definition'
  | 'schema'
  | 'schemas'
  | ShapeName

/** What the members of the objects at one place hold: of all of them, and of those of a type, which comes first. */
interface Owner {
  readonly members: ReadonlyMap<string, Holds>
  readonly types: ReadonlyMap<string, ReadonlyMap<string, Holds>>
}

/** A form, with the settings that it has. A member that it does not have holds only texts. */
export interface Form {
  /** The name of the member that contains an object, or '' for any → what its members hold. */
  readonly owners: ReadonlyMap<string, Owner>
  /** The same form, in which an object with an odd name is shown, not refused; absent: it is such a form. */
  readonly open?: Form
  /** What every member holds, where a client chooses the names. */
  readonly every?: Holds
}

/** Owners, with spaces between → what their members hold. An owner may name a type of its objects: "content:tool_use". */
export type Members = Readonly<Record<string, Readonly<Record<string, Holds>>>>

/** Owners → what their members hold → the names of those, with spaces between. */
export type PlacedSettings = Readonly<Record<string, Readonly<Partial<Record<Holds, string>>>>>

/** Creates a form from what the members of each owner hold, and from settings beside those. */
export function formOf(members: Members, ...settings: readonly PlacedSettings[]): Form {
  const owners = ownersOf(members, settings)
  return { owners, open: { owners } }
}

/** Creates an open form of settings alone. */
export const openForm = (...settings: readonly PlacedSettings[]): Form => ({
  owners: ownersOf({}, settings),
})

/** Returns the owners for objects of these types in these members. */
export const ofTypes = (owners: string, types: string): string =>
  wordsOf(owners)
    .flatMap((owner) => wordsOf(types).map((type) => `${owner}:${type}`))
    .join(' ')

interface OwnerMaps {
  readonly members: Map<string, Holds>
  readonly types: Map<string, Map<string, Holds>>
}

function ownersOf(members: Members, settings: readonly PlacedSettings[]): Form['owners'] {
  const owners = new Map<string, OwnerMaps>()
  const heldBy = (place: string): Map<string, Holds> => {
    const [name = '', ...rest] = place.split(':')
    const owner: OwnerMaps = owners.get(name) ?? { members: new Map(), types: new Map() }
    owners.set(name, owner)
    if (rest.length === 0) return owner.members
    const type = rest.join(':')
    const held = owner.types.get(type) ?? new Map<string, Holds>()
    owner.types.set(type, held)
    return held
  }
  // What is named first comes first: what holds texts and files.
  for (const [owner, name, holds] of [
    ...Object.entries(members).flatMap(membersOf),
    ...settings.flatMap(settingsOf),
  ]) {
    const held = heldBy(owner)
    if (!held.has(name)) held.set(name, holds)
  }
  return owners
}

type Named = readonly [owner: string, name: string, holds: Holds]

const wordsOf = (names: string): readonly string[] => names.trim().split(/\s+/)

const membersOf = ([owners, held]: [string, Members[string]]): readonly Named[] =>
  wordsOf(owners).flatMap((owner) =>
    Object.entries(held).map(([name, holds]) => [owner, name, holds] as const),
  )

const settingsOf = (settings: PlacedSettings): readonly Named[] =>
  Object.entries(settings).flatMap(([owners, held]) =>
    wordsOf(owners).flatMap((owner) =>
      Object.entries(held).flatMap(([holds, names]) =>
        wordsOf(names).map((name) => [owner, name, holds as Holds] as const),
      ),
    ),
  )

/** The form of what no API is known to contain: only texts. */
export const UNKNOWN: Form = openForm()
/** The form of strings that are all texts. */
export const TEXTS: Form = openForm()

/**
 * Returns what a member holds; undefined: the form does not have it. type: that of its object. owner: the name of the
 * member that contains the object.
 */
export function holdsOf(
  { owners, every }: Form,
  type: string | undefined,
  owner: string,
  name: string,
): Holds | undefined {
  if (every !== undefined) return every
  const place = owners.get(owner)
  return (
    (type === undefined ? undefined : place && heldByType(place, type)?.get(name)) ??
    place?.members.get(name) ??
    owners.get('')?.members.get(name)
  )
}

/** Some types have a name after a word of the API, as "tool-weather"; a form lists them as "tool-*". */
function heldByType({ types }: Owner, type: string): ReadonlyMap<string, Holds> | undefined {
  const found = types.get(type)
  if (found !== undefined || types.size === 0) return found
  const dash = type.indexOf('-')
  return dash === -1 ? undefined : types.get(`${type.slice(0, dash)}-*`)
}

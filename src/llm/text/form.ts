// Forms: which members the objects of an API have, and what each of them holds (decision 19).

import type { ShapeName } from './shapes.js'

/**
 * inner: objects of the form. open: the same, with settings alone: what is odd in them is shown, not refused. result:
 * the same as inner, from a tool. text: a string that is text, whatever it looks like. texts: the same for every string
 * below. call, jsonCall: what a tool is called with. json: JSON from a tool, shown as JSON. file: media. definition:
 * definitions of tools. schema: JSON Schema. A shape: a setting, or an object that is open.
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
  | ShapeName

/** A form, with the settings that it has. A member that it does not have holds only texts. */
export interface Form {
  /** An object's type, the name of the member that contains it, or '' for any → members → what they hold. */
  readonly owners: ReadonlyMap<string, ReadonlyMap<string, Holds>>
  /** The same form, in which an object with an odd name is shown, not refused; absent: it is such a form. */
  readonly open?: Form
}

/** Members of each owner that hold more than settings. */
type Members = Readonly<Record<string, Readonly<Record<string, Holds>>>>

/** Owner → what its members hold → the names of those, with spaces between. */
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

function ownersOf(members: Members, settings: readonly PlacedSettings[]): Form['owners'] {
  const owners = new Map<string, Map<string, Holds>>()
  const ownerOf = (name: string): Map<string, Holds> => {
    const owner = owners.get(name) ?? new Map<string, Holds>()
    owners.set(name, owner)
    return owner
  }
  for (const [owner, held] of Object.entries(members))
    for (const [name, holds] of Object.entries(held)) ownerOf(owner).set(name, holds)
  for (const [owner, name, holds] of settings.flatMap(namesOf)) {
    const known = ownerOf(owner)
    // What holds texts and files comes first.
    if (!known.has(name) && members['']?.[name] === undefined) known.set(name, holds)
  }
  return owners
}

const namesOf = (settings: PlacedSettings): readonly (readonly [string, string, Holds])[] =>
  Object.entries(settings).flatMap(([owners, held]) =>
    owners.split(' ').flatMap((owner) =>
      Object.entries(held).flatMap(([holds, names]) =>
        names
          .split(/\s+/)
          .filter((name) => name !== '')
          .map((name) => [owner, name, holds as Holds] as const),
      ),
    ),
  )

/** The form of what no API is known to contain: only texts. */
export const UNKNOWN: Form = openForm()
/** The form of strings that are all texts. */
export const TEXTS: Form = openForm()

/** Returns what a member holds; undefined: the form does not have it. type: that of its object. */
export const holdsOf = (
  { owners }: Form,
  type: string | undefined,
  owner: string,
  name: string,
): Holds | undefined =>
  (type === undefined ? undefined : owners.get(type)?.get(name)) ??
  owners.get(owner)?.get(name) ??
  owners.get('')?.get(name)

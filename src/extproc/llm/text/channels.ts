// Channels of events: words that say where a text belongs, e.g. "0 tool_calls 1". Some are numbers of choices, items and
// blocks, or indexes in lists; the others are names of members.

/** Marks the word of an index that is no number. */
const ODD = '~'

const INDEX = /^(?:\d+$|~)/

/** Returns the word of an index: one of digits is itself. */
export const indexWord = (index: string): string =>
  /^\d{1,15}$/.test(index) ? String(Number(index)) : ODD + index

/** Returns the place of a channel: its names, whatever the indexes are. */
export const channelPlace = (channel: string): string =>
  channel
    .split(' ')
    .filter((word) => !INDEX.test(word))
    .join(' ')

/** Whether a place is another, or within it. */
export const isPlaceWithin = (place: string, other: string): boolean =>
  place === other || place.startsWith(`${other} `)

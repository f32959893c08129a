// Status messages about fetched documents: why one is missing, how old it is, which keys cannot be used
// (decisions 1, 2, 10).

import { describeKeySet, type SkippedKey } from '../../../extauthz/oauth/key-set.js'
import { atOnce } from '../../../kit/turns.js'
import type { JsonObject } from '../../../model/json.js'
import type { RemoteDocument } from '../../../model/remote-target.js'

/** what: "key set" or "discovery document". */
export const unavailableNote = (
  what: string,
  url: string,
  known: RemoteDocument | undefined,
): string => `The ${what} ${url} is not available: ${known?.error ?? 'it has not been fetched yet'}`

/** Reports the age of a document, but only if its refresh fails and the last good one stays in use. */
export const ageNotes = (
  what: string,
  url: string,
  { error, fetchedAt }: RemoteDocument,
): readonly string[] =>
  error === undefined
    ? []
    : [
        `The ${what} ${url} is the one of ${new Date(fetchedAt ?? 0).toISOString()}, it cannot be refreshed: ${error}`,
      ]

/** Maximum number of reasons, and of keys with one reason, that a message has: a condition has 32 KiB. */
const MOST_REASONS = 8
const MOST_NAMED = 32

/** name: "jwks.inline", or the URL. Quick if describeKeySet() has looked through the set before. */
export function keyNotes(name: string, jwks: JsonObject): readonly string[] {
  const { usable, skipped } = atOnce(describeKeySet(jwks))
  const reasons = [...new Set(skipped.map(({ reason }) => reason))]
  const named = reasons.map((reason) => {
    const names = skipped.filter((key) => key.reason === reason).map(nameOf)
    return `${shortened(names, MOST_NAMED).join(', ')}: ${reason}`
  })
  return [
    ...(usable.length > 0 ? [] : [`${name} has no usable key: no token is valid`]),
    ...(named.length > 0
      ? [`Keys of ${name} that cannot be used: ${shortened(named, MOST_REASONS).join('; ')}`]
      : []),
  ]
}

const shortened = (parts: readonly string[], most: number): readonly string[] =>
  parts.length <= most ? parts : [...parts.slice(0, most), `${parts.length - most} more`]

/** Shortens and quotes a kid: it is the provider's text and must not look like part of the message. */
const nameOf = ({ kid, index }: SkippedKey): string =>
  kid === undefined
    ? index === undefined
      ? 'all'
      : `keys[${index}]`
    : JSON.stringify(kid.slice(0, 64))

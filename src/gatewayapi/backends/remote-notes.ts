// Status messages about fetched documents: why one is missing, how old it is, which keys cannot be used
// (decisions 1, 2, 10).

import { memo } from '../../incremental/memo.js'
import type { JsonObject } from '../../ir/json.js'
import type { RemoteDocument } from '../../ir/remote-target.js'
import { describeKeySet } from '../../oauth/key-set.js'

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

/** Like describeKeySet(), kept on the set, as looking through one takes milliseconds. */
export const describedKeySet = memo(describeKeySet)

const MOST_NAMED = 5

/** name: "jwks.inline", or the URL. */
export function keyNotes(name: string, jwks: JsonObject): readonly string[] {
  const { usable, skipped } = describedKeySet(jwks)
  const named = skipped.slice(0, MOST_NAMED).map(({ kid, reason }) => `${kidText(kid)}: ${reason}`)
  const more = skipped.length > MOST_NAMED ? [`${skipped.length - MOST_NAMED} more`] : []
  return [
    ...(usable.length > 0 ? [] : [`${name} has no usable key: no token is valid`]),
    ...(skipped.length > 0
      ? [`Keys of ${name} that cannot be used: ${[...named, ...more].join('; ')}`]
      : []),
  ]
}

/** Shortens and quotes a kid: it is the provider's text and must not look like part of the message. */
const kidText = (kid: string | undefined): string =>
  kid === undefined ? 'one without kid' : JSON.stringify(kid.slice(0, 64))

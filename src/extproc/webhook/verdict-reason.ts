// Limits what the log and the client get of the reason that a webhook gives with its verdict
// (docs/guardrail-webhook.md).

import type { JsonObjectNode } from '../../json/members.js'

/** Maximum length of a reason that is shown, in characters. */
const MOST_SHOWN = 256
/** Maximum length kept of a reason, in characters: enough for the log to find a whole credential in it. */
const MOST_KEPT = 65_536

/** Returns the reason as the webhook wrote it; undefined: absent or empty. */
export function reasonOf(action: JsonObjectNode): string | undefined {
  const reason = action.members.get('reason')
  return reason?.type === 'string' && reason.value !== ''
    ? reason.value.slice(0, MOST_KEPT)
    : undefined
}

/** Matches characters that a terminal or a log viewer would act on instead of showing them. */
const UNSAFE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}]/u

/** Returns at most 256 characters, with escapes such as \u001b for control characters. Neither is cut in two. */
export function shownReason(reason: string): string {
  let shown = ''
  for (const character of reason.slice(0, MOST_SHOWN)) {
    const next = UNSAFE.test(character) ? escaped(character) : character
    if (shown.length + next.length > MOST_SHOWN) break
    shown += next
  }
  return shown
}

/** Returns a shownReason() as a header value: escapes what is not ASCII, too. */
export const asciiReason = (shown: string): string => shown.replace(/[^\x20-\x7e]/g, escaped).trim()

/** character: a single UTF-16 unit. */
const escaped = (character: string): string =>
  `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

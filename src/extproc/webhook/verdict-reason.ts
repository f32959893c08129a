// The reason that a webhook gives with its verdict → what the log and the client may have of it (docs/guardrail-webhook.md).

import type { JsonObjectNode } from '../../json/members.js'

/** Characters that leave. */
const MOST_SHOWN = 256
/** Characters that are kept of the answer: enough for the log to find a whole credential in them. */
const MOST_KEPT = 65_536

/** As the webhook wrote it. Undefined: the action has none, or one that says nothing. */
export function reasonOf(action: JsonObjectNode): string | undefined {
  const reason = action.members.get('reason')
  return reason?.type === 'string' && reason.value !== ''
    ? reason.value.slice(0, MOST_KEPT)
    : undefined
}

/** What a terminal or a log viewer would act on instead of showing it. */
const UNSAFE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}]/u

/** At most 256 characters, with escapes such as \u001b in place of control characters. Neither is cut in two. */
export function shownReason(reason: string): string {
  let shown = ''
  for (const character of reason.slice(0, MOST_SHOWN)) {
    const next = UNSAFE.test(character) ? escaped(character) : character
    if (shown.length + next.length > MOST_SHOWN) break
    shown += next
  }
  return shown
}

/** Each of them is one UTF-16 unit. */
const escaped = (character: string): string =>
  `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

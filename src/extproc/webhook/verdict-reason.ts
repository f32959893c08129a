// Limits what the log and the client get of the reason that a webhook gives with its verdict
// (docs/guardrail-webhook.md).

import { escaped } from '../../kit/decision-log.js'
import type { JsonObjectNode } from '../../kit/json/members.js'

/** Maximum length kept of a reason, in characters: enough for the log to find a whole credential in it. */
const MOST_KEPT = 65_536

/** Returns the reason as the webhook wrote it; undefined: absent or empty. */
export function reasonOf(action: JsonObjectNode): string | undefined {
  const reason = action.members.get('reason')
  return reason?.type === 'string' && reason.value !== ''
    ? reason.value.slice(0, MOST_KEPT)
    : undefined
}

/** Returns a shownText() as a header value: escapes what is not ASCII, too. */
export const asciiReason = (shown: string): string => shown.replace(/[^\x20-\x7e]/g, escaped).trim()

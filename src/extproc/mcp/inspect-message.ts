// Asks the webhooks about one message of MCP.

import type { Edit } from '../../kit/json/json-text.js'
import { inTurns, Pace } from '../../kit/turns.js'
import type { Phase } from '../../model/proc-entry.js'
import type { Aborted } from '../guard/inspection.js'
import { editsOf } from '../llm/text/conversation.js'
import { askWebhooks, type Reject, type Unavailable } from '../webhook/ask-webhooks.js'
import { attributesOfMessage } from '../webhook/mcp-span.js'
import { inPhaseSpan } from '../webhook/phase-span.js'
import type { McpExchange } from './mcp-guard.js'
import type { GuardedMessage } from './texts/guarded-message.js'

/** The combined verdict of the webhooks about a message. */
export type MessageVerdict =
  /** contents: one per entry. edits: of the text that the message was read from. */
  | {
      readonly type: 'pass'
      readonly contents: readonly string[]
      readonly edits: readonly Edit[]
    }
  | Reject
  | Unavailable
  | Aborted

/** Asks the webhooks of a phase about a message. */
export async function inspectMessage(
  { entries, tool }: Pick<GuardedMessage, 'entries' | 'tool'>,
  phase: Phase,
  { guard, attributes, signal, deps }: McpExchange,
): Promise<MessageVerdict> {
  const webhooks = guard[phase]
  if (entries.length === 0 || webhooks.length === 0)
    return { type: 'pass', contents: entries.map(({ content }) => content), edits: [] }
  const { route } = guard
  const question = {
    route,
    phase,
    webhooks,
    tool,
    entries,
    signal,
    attributes: attributes(),
  }
  const verdict = await inPhaseSpan(deps, route, phase, (own) => {
    if (own.span?.isRecording === true) own.span.set(attributesOfMessage(tool, question.attributes))
    return askWebhooks(question, own)
  })
  if (verdict.type !== 'pass') return verdict
  const edits = await inTurns(editsOf(entries, verdict.contents, new Pace()), signal)
  return edits === undefined ? ABORTED : { type: 'pass', contents: verdict.contents, edits }
}

const ABORTED: Aborted = { type: 'aborted' }

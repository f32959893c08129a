// The third layer of a streamed reply: asks the webhooks about a window. Those of mode Sync decide what leaves, those
// of mode Async are shown what has left.

import type { Attributes } from '../../cel/attributes.js'
import type { Ending } from '../../ending.js'
import type { EntryKind } from '../../llm/text/conversation.js'
import type { ReplyForm } from '../../llm/windows/reply-channels.js'
import { askWebhooks, type PhaseVerdict } from '../webhook/ask-webhooks.js'
import { type CompiledWebhook, type Guard, isShown } from '../webhook/compiled-guard.js'
import type { GuardDeps } from '../webhook/guard-deps.js'
import type { AskedEntry } from '../webhook/question.js'

/** The webhooks of one mode. */
export interface Webhooks {
  /** What the webhooks are shown. */
  readonly form: ReplyForm
  readonly minIntervalMs: number
  ask(entries: readonly AskedEntry[]): Promise<PhaseVerdict>
}

/** The exchange that webhooks are asked about. */
export interface WebhookContext {
  readonly guard: Guard
  readonly attributes: Attributes
  readonly signal: Ending
}

/** Returns the webhooks of a mode. */
export function webhooksOf(
  mode: 'Sync' | 'Async',
  { guard, attributes, signal }: WebhookContext,
  deps: GuardDeps,
): Webhooks {
  const webhooks = guard.response.filter(({ webhook }) => webhook.mode === mode)
  const { route } = guard
  const hasPassed = mode === 'Async'
  return {
    form: formOf(webhooks, deps.maxBodyBytes),
    minIntervalMs: Math.max(0, ...webhooks.map(({ webhook }) => webhook.minIntervalMs)),
    ask: (entries) =>
      askWebhooks(
        { route, phase: 'response', webhooks, entries, attributes, hasPassed, signal },
        deps,
      ),
  }
}

const KINDS: readonly EntryKind[] = ['text', 'tool-call', 'definition', 'file']

const formOf = (webhooks: readonly CompiledWebhook[], maxSize: number): ReplyForm => ({
  shows: new Set(KINDS.filter((kind) => webhooks.some((compiled) => isShown(kind, compiled)))),
  holdBack: Math.max(1, ...webhooks.map(({ webhook }) => webhook.holdBack)),
  maxSize,
})

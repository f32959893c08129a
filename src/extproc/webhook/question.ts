// What the webhooks of a phase are asked.

import type { Attributes } from '../../extauthz/cel/attributes.js'
import type { Ending } from '../../kit/ending.js'
import type { Phase } from '../../model/proc-entry.js'
import type { Entry } from '../llm/text/conversation.js'
import type { CompiledWebhook } from './compiled-guard.js'
import type { ShownTool } from './webhook-request.js'

/** One text that may be shown. */
export interface AskedEntry extends Pick<
  Entry,
  'kind' | 'role' | 'content' | 'isJson' | 'place' | 'part'
> {
  /** Whether a change can be written back; absent: if it has a place. */
  readonly isWritable?: boolean
}

/** What the webhooks of a phase are asked. */
export interface Question {
  /** NAMESPACE/NAME of the HTTPRoute. */
  readonly route: string
  readonly phase: Phase
  readonly webhooks: readonly CompiledWebhook[]
  readonly entries: readonly AskedEntry[]
  readonly attributes: Attributes
  /** The subject of an MCP message; absent: LLM traffic. */
  readonly tool?: ShownTool
  /** Whether the text has already passed; changing it is not a valid verdict then. */
  readonly hasPassed?: boolean
  /** Aborts the question. */
  readonly signal: Ending
}

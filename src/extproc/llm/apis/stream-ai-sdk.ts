// Reads an event of a message stream of the AI SDK: texts, thoughts and inputs of tools that start, continue and end,
// with an id each.

import type { JsonObjectNode } from '../../../kit/json/members.js'
import type { Work } from '../../../kit/turns.js'
import type { TextsAndEnds } from '../text/event-texts.js'
import { formOf } from '../text/form.js'
import type { Source } from '../text/found-text.js'
import { OF_OTHER_MESSAGES } from '../text/other-messages.js'
import { OF_REPLY } from '../text/settings.js'
import { readTypedEvent, type TypedEvent } from './typed-events.js'

const TEXT: TypedEvent = { id: 'id', of: 'text' }
const REASONING: TypedEvent = { id: 'id', of: 'reasoning' }
const CALL: TypedEvent = { id: 'toolCallId', of: 'input', isCall: true }
const OTHER: TypedEvent = { of: 'none' }

const EVENTS: ReadonlyMap<string, TypedEvent> = new Map<string, TypedEvent>([
  ['text-start', { ...TEXT, isStart: true }],
  ['text-delta', { ...TEXT, part: 'delta' }],
  ['text-end', { ...TEXT, isEnd: true }],
  ['reasoning-start', { ...REASONING, isStart: true }],
  ['reasoning-delta', { ...REASONING, part: 'delta' }],
  ['reasoning-end', { ...REASONING, isEnd: true }],
  ['tool-input-start', { ...CALL, isStart: true }],
  ['tool-input-delta', { ...CALL, part: 'inputTextDelta' }],
  ['tool-input-available', { ...CALL, call: 'input', isEnd: true }],
  ['tool-input-error', { ...CALL, call: 'input', isEnd: true }],
  ...[
    'start',
    'finish',
    'abort',
    'start-step',
    'finish-step',
    'message-metadata',
    'file',
    'source-url',
    'source-document',
    'reasoning-file',
    'tool-approval-request',
    'tool-output-available',
    'tool-output-error',
    'tool-output-denied',
  ].map((type) => [type, OTHER] as const),
])

/** Whether an event is one of the AI SDK. An error is if it has its text where the SDK looks for it. */
export const isAiSdkEvent = (type: string, root: JsonObjectNode): boolean =>
  EVENTS.has(type) ||
  type.startsWith('data-') ||
  (type === 'error' && root.members.has('errorText'))

const BESIDE = formOf(
  { reply: { output: 'json', errorText: 'text', reason: 'text', title: 'text' } },
  OF_REPLY,
  ...OF_OTHER_MESSAGES,
  {
    reply: {
      id: 'id toolCallId sourceId messageId approvalId',
      name: 'toolName',
      mime: 'mediaType',
      word: 'finishReason',
      open: 'providerMetadata',
    },
    'reply:file': { file: 'url' },
    'reply:reasoning-file': { file: 'url' },
    'reply:source-url': { url: 'url' },
  },
)

/** type: one that isAiSdkEvent() accepts. */
export function* readAiSdkEvent(
  json: Source,
  root: JsonObjectNode,
  type: string,
): Work<TextsAndEnds> {
  const found = yield* readTypedEvent(json, root, EVENTS.get(type) ?? OTHER, BESIDE)
  return LAST.has(type) ? { ...found, ends: [''] } : found
}

/** Events after which a message says no more. */
const LAST: ReadonlySet<string> = new Set(['finish', 'abort'])

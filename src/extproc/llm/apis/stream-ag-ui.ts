// Reads an event of AG-UI, the protocol between agents and their user interfaces: messages, thoughts and arguments of
// tools that start, continue and end, states and snapshots.

import type { JsonObjectNode } from '../../../kit/json/members.js'
import type { Work } from '../../../kit/turns.js'
import type { TextsAndEnds } from '../text/event-texts.js'
import { formOf } from '../text/form.js'
import type { Source } from '../text/found-text.js'
import { OF_REPLY } from '../text/settings.js'
import { IN_MESSAGES, WITH_MESSAGES } from './messages.js'
import { readTypedEvent, type TypedEvent } from './typed-events.js'

const MESSAGE: TypedEvent = { id: 'messageId', of: 'message' }
const REASONING: TypedEvent = { id: 'messageId', of: 'reasoning' }
const THINKING: TypedEvent = { of: 'thinking' }
const CALL: TypedEvent = { id: 'toolCallId', of: 'call', isCall: true }
const OTHER: TypedEvent = { of: 'none' }

/** Chunks may leave their id out after the first, so that there is one text at a time. */
const CHUNKS: readonly (readonly [string, TypedEvent])[] = [
  ['TEXT_MESSAGE_CHUNK', { of: 'message_chunks', part: 'delta' }],
  ['REASONING_MESSAGE_CHUNK', { of: 'reasoning_chunks', part: 'delta' }],
  ['TOOL_CALL_CHUNK', { of: 'call_chunks', part: 'delta', isCall: true }],
]

const EVENTS: ReadonlyMap<string, TypedEvent> = new Map<string, TypedEvent>([
  ['TEXT_MESSAGE_START', { ...MESSAGE, isStart: true }],
  ['TEXT_MESSAGE_CONTENT', { ...MESSAGE, part: 'delta' }],
  ['TEXT_MESSAGE_END', { ...MESSAGE, isEnd: true }],
  ['REASONING_MESSAGE_START', { ...REASONING, isStart: true }],
  ['REASONING_MESSAGE_CONTENT', { ...REASONING, part: 'delta' }],
  ['REASONING_MESSAGE_END', { ...REASONING, isEnd: true }],
  ['THINKING_TEXT_MESSAGE_START', { ...THINKING, isStart: true }],
  ['THINKING_TEXT_MESSAGE_CONTENT', { ...THINKING, part: 'delta' }],
  ['THINKING_TEXT_MESSAGE_END', { ...THINKING, isEnd: true }],
  ['TOOL_CALL_START', { ...CALL, isStart: true }],
  ['TOOL_CALL_ARGS', { ...CALL, part: 'delta' }],
  ['TOOL_CALL_END', { ...CALL, isEnd: true }],
  ['REASONING_ENCRYPTED_VALUE', { id: 'entityId', of: 'none' }],
  ...CHUNKS,
])

const OTHERS =
  /^(?:TOOL_CALL_RESULT|(?:THINKING|REASONING)_(?:START|END|ENCRYPTED_VALUE)|(?:STATE|ACTIVITY)_(?:SNAPSHOT|DELTA)|MESSAGES_SNAPSHOT|RAW|CUSTOM|RUN_(?:STARTED|FINISHED|ERROR)|STEP_(?:STARTED|FINISHED))$/

/** Whether an event of this type is one of AG-UI. */
export const isAgUiEvent = (type: string): boolean => EVENTS.has(type) || OTHERS.test(type)

const BESIDE = formOf(
  { ...IN_MESSAGES, reply: { messages: 'inner', content: 'inner', message: 'text' } },
  OF_REPLY,
  ...WITH_MESSAGES,
  {
    reply: {
      id: 'messageId toolCallId threadId runId parentRunId parentMessageId entityId code',
      name: 'toolCallName',
      type: 'activityType',
      word: 'subtype',
      signature: 'encryptedValue',
    },
  },
)

/** type: one that isAgUiEvent() accepts. */
export function* readAgUiEvent(
  json: Source,
  root: JsonObjectNode,
  type: string,
): Work<TextsAndEnds> {
  const found = yield* readTypedEvent(json, root, EVENTS.get(type) ?? OTHER, BESIDE)
  return LAST.has(type) ? { ...found, ends: [''] } : found
}

/** Events after which a run says no more. */
const LAST: ReadonlySet<string> = new Set(['RUN_FINISHED', 'RUN_ERROR'])

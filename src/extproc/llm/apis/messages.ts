// Reads messages and choices of OpenAI's chat completions, messages and blocks of Anthropic's, Cohere's, Ollama's and
// Bedrock's APIs, messages of the AI SDK and of AG-UI, and choices of OpenAI's completions, in requests, replies and
// events alike. Each server ignores what only the others have.

import type { JsonNode } from '../../../kit/json/json-node.js'
import {
  asArray,
  asObject,
  type JsonObjectNode,
  member,
  present,
} from '../../../kit/json/members.js'
import { UnreadableForm } from '../../../kit/json/unreadable-form.js'
import type { Work } from '../../../kit/turns.js'
import type { Entry } from '../text/conversation.js'
import { formOf, type Holds, type Members, ofTypes } from '../text/form.js'
import type { At, FoundText, Source } from '../text/found-text.js'
import { entriesOf, messageEntries, numberedParts, roleOf, sweepMessage } from '../text/message.js'
import { OF_OTHER_MESSAGES } from '../text/other-messages.js'
import { BLOCKS, OF_MESSAGES, SAID } from '../text/settings.js'
import { sweepMember, sweepObject } from '../text/sweep.js'

const CALL: Readonly<Record<string, Holds>> = { input: 'jsonCall' }

/** What the members of messages, choices and blocks hold. */
export const IN_MESSAGES: Members = {
  '': {
    text: 'text',
    refusal: 'text',
    transcript: 'text',
    reasoning_content: 'text',
    summary: 'text',
    title: 'text',
    context: 'text',
    cited_text: 'text',
    lines: 'text',
    error_message: 'text',
    stderr: 'text',
    stdout: 'text',
  },
  [SAID]: {
    content: 'inner',
    reasoning: 'inner',
    reasoning_details: 'inner',
    thinking: 'inner',
    thinking_blocks: 'inner',
    tool_calls: 'inner',
    function_call: 'inner',
    audio: 'inner',
    images: 'file',
    annotations: 'inner',
    citations: 'inner',
    context: 'inner',
  },
  tool_calls: { function: 'inner', custom: 'inner' },
  'function function_call': { arguments: 'jsonCall' },
  custom: { input: 'call' },
  [`${BLOCKS} source prediction file`]: { content: 'inner' },
  [BLOCKS]: {
    thinking: 'inner',
    tool_references: 'inner',
    annotations: 'inner',
    citations: 'inner',
  },
  [ofTypes(BLOCKS, 'image document')]: { source: 'inner' },
  [ofTypes(BLOCKS, 'file')]: { file: 'inner' },
  [ofTypes(BLOCKS, 'image_url')]: { image_url: 'file' },
  [ofTypes(BLOCKS, 'video_url')]: { video_url: 'file' },
  [ofTypes(BLOCKS, 'audio_url')]: { audio_url: 'file' },
  [ofTypes(BLOCKS, 'document_url')]: { document_url: 'file' },
  [ofTypes(BLOCKS, 'input_audio')]: { input_audio: 'file' },
  'system context': { citations: 'inner' },
  annotations: { file: 'inner' },
  'audio input_audio': { data: 'file' },
  'image_url video_url audio_url document_url': { url: 'file' },
  images: { image_url: 'file', b64_json: 'file' },
  file: { file_data: 'file' },
  'reasoning_details:reasoning.encrypted': { data: 'file' },
  thinking_blocks: { thinking: 'text' },
  'thinking_blocks:redacted_thinking': { data: 'file' },
  // A document's source is text or base64.
  'source:base64': { data: 'file' },
  'source:text': { data: 'text' },
  [ofTypes(BLOCKS, 'tool_use server_tool_use mcp_tool_use')]: CALL,
  [ofTypes(BLOCKS, 'redacted_thinking')]: { data: 'file' },
  [ofTypes(BLOCKS, 'mcp_tool_listing')]: { tools: 'definition' },
  [ofTypes(BLOCKS, 'tool_addition')]: { tool: 'definition', tools: 'definition' },
}

/** The settings of messages, choices and blocks. */
export const WITH_MESSAGES = [OF_MESSAGES, ...OF_OTHER_MESSAGES] as const

/** The form of messages and choices. */
export const MESSAGES = formOf(IN_MESSAGES, ...WITH_MESSAGES)

/** json: the body that is read; likewise below. */
export function* readMessages(node: JsonNode, json: Source): Work<readonly Entry[]> {
  const parts: (readonly Entry[])[] = []
  for (const item of asArray(node, 'messages').items) {
    if (json.pace.isDue()) yield
    const message = asObject(item, 'a message')
    const role = roleOf(message)
    parts.push(yield* messageOf(message, { json, role, toolRole: 'tool' }))
  }
  return parts.flat()
}

export function* messageOf(message: JsonObjectNode, at: At): Work<readonly Entry[]> {
  const found: FoundText[] = []
  yield* sweepMessage(message, 'messages', at, MESSAGES, found)
  return yield* messageEntries(at.json, found, at.role, member(message, 'content'))
}

/** Reads a string, blocks, or an object with content, all in one role. */
export function* readBlocks(
  node: JsonNode,
  name: string,
  json: Source,
  role: string,
): Work<readonly Entry[]> {
  if (node.type === 'number' || node.type === 'boolean')
    throw new UnreadableForm(`${name} is neither a string nor blocks`)
  const found: FoundText[] = []
  yield* sweepMember(
    node,
    { name, holds: 'inner' },
    { json, role, toolRole: 'tool' },
    MESSAGES,
    found,
  )
  return numberedParts(json, yield* entriesOf(json, found))
}

/** Reads the choices of a whole reply. */
export function* readChoices(node: JsonNode, json: Source): Work<readonly Entry[]> {
  const parts: (readonly Entry[])[] = []
  for (const item of asArray(node, 'choices').items) {
    if (json.pace.isDue()) yield
    const choice = asObject(item, 'a choice')
    if (member(choice, 'delta') !== undefined) throw new UnreadableForm('a choice is of a stream')
    parts.push(yield* choiceEntries(choice, json))
  }
  return parts.flat()
}

function* choiceEntries(choice: JsonObjectNode, json: Source): Work<readonly Entry[]> {
  const given = present(member(choice, 'message'))
  const message = given === undefined ? undefined : asObject(given, 'the message of a choice')
  const role = message === undefined ? 'assistant' : roleOf(message, 'assistant')
  const at: At = { json, role, toolRole: role }
  const found: FoundText[] = []
  if (message !== undefined) yield* sweepMessage(message, 'message', at, MESSAGES, found)
  yield* sweepObject(choice, 'choices', at, MESSAGES, found, { skip: MESSAGE, first: 0 })
  return yield* messageEntries(json, found, role, message && member(message, 'content'))
}

const MESSAGE: ReadonlySet<string> = new Set(['message'])

// Reads messages and choices of OpenAI's chat completions, messages and blocks of Anthropic's API, and choices of
// OpenAI's completions, in requests, replies and events alike. Each server ignores what only the others have.

import type { JsonNode } from '../../json/json-node.js'
import { asArray, asObject, type JsonObjectNode, member, present } from '../../json/members.js'
import { UnreadableForm } from '../../json/unreadable-form.js'
import type { Work } from '../../turns.js'
import type { Entry } from '../text/conversation.js'
import { formOf } from '../text/form.js'
import type { At, FoundText, Source } from '../text/found-text.js'
import { entriesOf, messageEntries, roleOf, sweepMessage } from '../text/message.js'
import { OF_MESSAGES } from '../text/settings.js'
import { sweepMember, sweepObject } from '../text/sweep.js'

/** The form of messages and choices. */
export const MESSAGES = formOf(
  {
    '': {
      ...{
        text: 'text',
        content: 'inner',
        refusal: 'text',
        reasoning: 'inner',
        transcript: 'text',
      },
      ...{
        reasoning_content: 'text',
        reasoning_details: 'inner',
        thinking: 'inner',
        summary: 'inner',
      },
      ...{ annotations: 'inner', citations: 'inner' },
      ...{ tool_calls: 'inner', function: 'inner', custom: 'inner', function_call: 'inner' },
      ...{ audio: 'inner', input_audio: 'inner', file: 'inner', source: 'inner' },
      ...{ image_url: 'file', images: 'file', file_data: 'file', b64_json: 'file' },
      // Members of Anthropic's blocks.
      ...{
        title: 'text',
        context: 'text',
        cited_text: 'text',
        lines: 'text',
        error_message: 'text',
      },
      ...{ stderr: 'text', stdout: 'text' },
    },
    function: { arguments: 'jsonCall' },
    function_call: { arguments: 'jsonCall' },
    custom: { input: 'call' },
    audio: { data: 'file' },
    input_audio: { data: 'file' },
    image_url: { url: 'file' },
    // Blocks, by type. A document's source is text or base64.
    tool_use: { input: 'jsonCall' },
    server_tool_use: { input: 'jsonCall' },
    mcp_tool_use: { input: 'jsonCall' },
    base64: { data: 'file' },
    text: { data: 'text' },
    redacted_thinking: { data: 'file' },
    'reasoning.encrypted': { data: 'file' },
    mcp_tool_listing: { tools: 'definition' },
    tool_addition: { tool: 'definition', tools: 'definition' },
  },
  OF_MESSAGES,
)

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
  return yield* entriesOf(json, found)
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

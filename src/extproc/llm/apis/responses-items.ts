// Reads items of the OpenAI Responses API and their parts, in requests, replies and events alike.

import type { JsonNode } from '../../../kit/json/json-node.js'
import {
  asArray,
  asObject,
  type JsonObjectNode,
  member,
  present,
} from '../../../kit/json/members.js'
import type { Work } from '../../../kit/turns.js'
import type { Entry } from '../text/conversation.js'
import { formOf, ofTypes } from '../text/form.js'
import type { At, FoundText, Source } from '../text/found-text.js'
import { entriesOf, messageEntries, roleOf } from '../text/message.js'
import { OF_ITEMS } from '../text/settings.js'
import { expectPlainNames, sweepMember, sweepObject } from '../text/sweep.js'
import { expectNoTokens } from '../text/vectors.js'

/** The form of items. */
export const ITEMS = formOf(
  {
    '': {
      text: 'text',
      refusal: 'text',
      transcript: 'text',
      logs: 'text',
      message: 'text',
      queries: 'text',
      reason: 'text',
      revised_prompt: 'text',
      code: 'text',
      quote: 'text',
      stderr: 'text',
      stdout: 'text',
    },
    item: {
      content: 'inner',
      summary: 'inner',
      output: 'inner',
      outputs: 'inner',
      results: 'inner',
      error: 'inner',
    },
    'content part output': { annotations: 'inner' },
    [ofTypes('content output', 'input_image computer_screenshot')]: { image_url: 'file' },
    [ofTypes('content output', 'input_file')]: { file_data: 'file' },
    [ofTypes('content output', 'input_audio')]: { input_audio: 'inner' },
    outputs: { image_url: 'file' },
    input_audio: { data: 'file' },
    [ofTypes('content part', 'input_audio output_audio')]: { audio: 'file', data: 'file' },
    // An input to be moderated.
    'item:image_url': { image_url: 'inner' },
    image_url: { url: 'file' },
    'item:image_generation_call': { result: 'file' },
    [ofTypes('item', 'mcp_list_tools tool_search_output')]: { tools: 'definition' },
    [ofTypes('item', 'function_call tool_search_call mcp_call mcp_approval_request')]: {
      arguments: 'jsonCall',
    },
    'item:custom_tool_call': { input: 'call' },
    'item:computer_call': { action: 'call', actions: 'call' },
    [ofTypes('item', 'local_shell_call shell_call web_search_call')]: { action: 'call' },
    'item:apply_patch_call': { operation: 'call' },
  },
  OF_ITEMS,
)

/** at: has the role of items that name none. */
export function* readItems(node: JsonNode, name: string, at: At): Work<readonly Entry[]> {
  const parts: (readonly Entry[])[] = []
  for (const given of asArray(node, name).items) {
    if (at.json.pace.isDue()) yield
    const item = asObject(given, 'an item')
    const isMessage = isMessageItem(item)
    const role = isMessage ? roleOf(item, at.role) : at.role
    const found: FoundText[] = []
    yield* sweepItem(item, { ...at, role }, found)
    parts.push(
      isMessage ? yield* messageEntries(at.json, found, role) : yield* entriesOf(at.json, found),
    )
  }
  return parts.flat()
}

/** Whether an item is a message. */
export function isMessageItem(item: JsonObjectNode): boolean {
  const type = present(member(item, 'type'))
  if (type === undefined) return present(member(item, 'role')) !== undefined
  return type.type === 'string' && type.value === 'message'
}

/** Reads an item. */
export const sweepItem = (item: JsonObjectNode, at: At, out: FoundText[]): Work<void> =>
  sweepObject(item, 'item', at, ITEMS, out, { skip: isMessageItem(item) ? ROLE : undefined })

const ROLE: ReadonlySet<string> = new Set(['role'])

/** Reads a reference to a stored prompt, with values for its variables: strings and parts. */
export function* readKeptPrompt(node: JsonNode, json: Source): Work<readonly Entry[]> {
  const found: FoundText[] = []
  const at: At = { json, role: 'user', toolRole: 'tool' }
  const prompt = asObject(node, 'the prompt')
  for (const [name, value] of prompt.members) yield* expectNoTokens(name, value, json)
  const given = present(member(prompt, 'variables'))
  const variables = given && asObject(given, 'variables')
  if (variables !== undefined) yield* expectPlainNames(variables, json)
  for (const value of variables?.members.values() ?? [])
    yield* sweepMember(value, { name: 'content', holds: 'inner' }, at, ITEMS, found)
  yield* sweepObject(prompt, 'prompt', at, ITEMS, found, { skip: VARIABLES })
  return yield* entriesOf(json, found)
}

const VARIABLES: ReadonlySet<string> = new Set(['variables'])

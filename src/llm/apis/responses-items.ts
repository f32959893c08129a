// Reads items of the OpenAI Responses API and their parts, in requests, replies and events alike.

import type { JsonNode } from '../../json/json-node.js'
import { asArray, asObject, type JsonObjectNode, member, present } from '../../json/members.js'
import type { Work } from '../../turns.js'
import type { Entry } from '../text/conversation.js'
import { formOf, type Holds } from '../text/form.js'
import type { At, FoundText, Source } from '../text/found-text.js'
import { entriesOf, messageEntries, roleOf } from '../text/message.js'
import { OF_ITEMS } from '../text/settings.js'
import { expectPlainNames, sweepMember, sweepObject } from '../text/sweep.js'
import { expectNoTokens } from '../text/vectors.js'

const CALLED: Readonly<Record<string, Holds>> = {
  arguments: 'jsonCall',
  input: 'call',
  action: 'call',
  actions: 'call',
  operation: 'call',
}

/** The form of items. */
export const ITEMS = formOf(
  {
    '': {
      ...{ text: 'text', content: 'inner', refusal: 'text', transcript: 'text', summary: 'inner' },
      ...{ output: 'inner', outputs: 'inner', results: 'inner', annotations: 'inner' },
      ...{ logs: 'text', error: 'inner', message: 'text', queries: 'text', reason: 'text' },
      ...{ revised_prompt: 'text', stderr: 'text', stdout: 'text', code: 'text', quote: 'text' },
      ...{ image_url: 'file', file_data: 'file', input_audio: 'inner', audio: 'file' },
    },
    input_audio: { data: 'file' },
    output_audio: { data: 'file' },
    image_generation_call: { result: 'file' },
    mcp_list_tools: { tools: 'definition' },
    tool_search_output: { tools: 'definition' },
    function_call: CALLED,
    custom_tool_call: CALLED,
    tool_search_call: CALLED,
    computer_call: CALLED,
    local_shell_call: CALLED,
    shell_call: CALLED,
    apply_patch_call: CALLED,
    web_search_call: CALLED,
    mcp_call: CALLED,
    mcp_approval_request: CALLED,
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
  for (const value of prompt.members.values()) yield* expectNoTokens(value, json)
  const given = present(member(prompt, 'variables'))
  const variables = given && asObject(given, 'variables')
  if (variables !== undefined) yield* expectPlainNames(variables, json)
  for (const value of variables?.members.values() ?? [])
    yield* sweepMember(value, { name: 'content', holds: 'inner' }, at, ITEMS, found)
  yield* sweepObject(prompt, 'prompt', at, ITEMS, found, { skip: VARIABLES })
  return yield* entriesOf(json, found)
}

const VARIABLES: ReadonlySet<string> = new Set(['variables'])

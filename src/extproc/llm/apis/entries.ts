// Reads entries of Mistral's conversations, and contents and steps of Gemini's interactions, in requests and replies.

import type { JsonNode } from '../../../kit/json/json-node.js'
import { asArray, asObject, type JsonObjectNode } from '../../../kit/json/members.js'
import type { Work } from '../../../kit/turns.js'
import type { Entry } from '../text/conversation.js'
import { formOf, ofTypes } from '../text/form.js'
import { type At, type FoundText, foundText, type Source } from '../text/found-text.js'
import { entriesOf, messageEntries, roleOf } from '../text/message.js'
import { OF_REPLY } from '../text/settings.js'
import { sweepObject } from '../text/sweep.js'
import { IN_MESSAGES, WITH_MESSAGES } from './messages.js'

const CALLS = `function.call tool.execution function_call code_execution_call url_context_call google_search_call
  mcp_server_tool_call file_search_call google_maps_call`
const RESULTS = `function.result function_result code_execution_result url_context_result google_search_result
  mcp_server_tool_result file_search_result google_maps_result`

/** The form of entries, contents and steps, and of the parts of their content. */
export const ENTRIES = formOf(
  {
    ...IN_MESSAGES,
    entry: { content: 'inner', summary: 'inner', text: 'text', annotations: 'inner' },
    [ofTypes('entry', CALLS)]: { arguments: 'jsonCall' },
    [ofTypes('entry', RESULTS)]: { result: 'result' },
    [ofTypes('entry content delta', 'image audio video document')]: { data: 'file', uri: 'file' },
  },
  ...WITH_MESSAGES,
  {
    entry: {
      id: 'id tool_call_id call_id agent_id previous_agent_id next_agent_id',
      type: 'object',
      word: 'role status',
      date: 'created_at completed_at',
      model: 'model',
      mime: 'mime_type',
      signature: 'signature',
    },
    [ofTypes('entry', `${CALLS} ${RESULTS}`)]: { name: 'name function server_name' },
    'entry content delta': { word: 'resolution', mime: 'mime_type' },
  },
)

/** A string, one content, or a list of entries, contents, steps or turns. */
export function* readEntries(node: JsonNode, json: Source): Work<readonly Entry[]> {
  const at: At = { json, role: 'user', toolRole: 'tool' }
  if (node.type === 'string') return yield* entriesOf(json, [foundText(node, at)])
  const parts: (readonly Entry[])[] = []
  for (const item of node.type === 'array' ? node.items : [node]) {
    if (json.pace.isDue()) yield
    const found: FoundText[] = []
    const role = yield* sweepEntry(asObject(item, 'an entry'), at, found)
    parts.push(yield* messageEntries(json, found, role))
  }
  return parts.flat()
}

/** Reads the outputs or the steps of a whole reply as one message. */
export function* readOutputs(node: JsonNode, json: Source): Work<readonly Entry[]> {
  const at: At = { json, role: 'assistant', toolRole: 'tool' }
  const found: FoundText[] = []
  for (const item of asArray(node, 'the outputs').items) {
    if (json.pace.isDue()) yield
    yield* sweepEntry(asObject(item, 'an output'), at, found)
  }
  return yield* messageEntries(json, found, 'assistant')
}

/** Returns the role of the entry. at: has that of entries that name none. */
function* sweepEntry(entry: JsonObjectNode, at: At, out: FoundText[]): Work<string> {
  const given = roleOf(entry, at.role)
  const role = given === 'model' ? 'assistant' : given
  yield* sweepObject(entry, 'entry', { ...at, role }, ENTRIES, out, { skip: ROLE })
  return role
}

const ROLE: ReadonlySet<string> = new Set(['role'])

/** What such replies and their events have beside their words. */
export const BESIDE_ENTRIES = formOf({ reply: { message: 'text' } }, OF_REPLY, {
  reply: {
    id: 'conversation_id agent_id interaction_id event_id previous_interaction_id tool_call_id',
    date: 'created_at created updated',
    model: 'agent',
    name: 'name',
    type: 'event_type',
    open: 'interaction',
  },
  interaction: {
    id: 'id previous_interaction_id',
    type: 'object',
    word: 'status role',
    date: 'created updated',
    model: 'model agent',
    open: 'usage',
  },
})

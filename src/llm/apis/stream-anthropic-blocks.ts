// Blocks of content of Anthropic's messages API, as a stream begins them: mostly empty, but for what tools returned.

import type { JsonNode } from '../json/json-text.js'
import { asObject, asString, member, present, type JsonObjectNode } from '../json/members.js'
import {
  goingOn,
  isProse,
  jsonToolCallOf,
  NOTHING,
  provenSilent,
  sweepRest,
  textOf,
  together,
  toolCallOf,
  whole,
  type Picks,
  type Said,
} from '../text/stream-said.js'

/** channel: the block's. */
export function readBlock(json: string, node: JsonNode, channel: string): Said {
  const block = asObject(node, 'a block')
  const type = asString(member(block, 'type'), 'the type of a block').value
  if (CALLS.has(type)) return readCall(json, block, channel)
  const name = TEXTS.get(type)
  if (name === undefined && !RESULTS.has(type)) return provenSilent(block, 'a block')
  const begun = name === undefined ? undefined : present(member(block, name))
  return together([
    begun === undefined
      ? NOTHING
      : goingOn([textOf(asString(begun, 'text'), `${channel} ${name}`)]),
    whole(sweepRest(block, channel, new Set(name === undefined ? [] : [name]), isResult)),
  ])
}

/** Types of blocks → the member that deltas go on with. */
const TEXTS: ReadonlyMap<string, string> = new Map([
  ['text', 'text'],
  ['thinking', 'thinking'],
  ['compaction', 'content'],
])

const CALLS: ReadonlySet<string> = new Set(['tool_use', 'server_tool_use', 'mcp_tool_use'])

const RESULTS: ReadonlySet<string> = new Set([
  'advisor_tool_result',
  'bash_code_execution_tool_result',
  'code_execution_tool_result',
  'container_upload',
  'fallback',
  'mcp_tool_listing',
  'mcp_tool_result',
  'redacted_thinking',
  'text_editor_code_execution_tool_result',
  'tool_search_tool_result',
  'web_fetch_tool_result',
  'web_search_tool_result',
])

/** What tools that the API itself runs return; a document's data is text or base64. */
const isResult: Picks = (name, owner) => {
  if (name !== 'data') return isProse(name) || RESULT.has(name)
  const type = owner?.members.get('type')
  return type?.type === 'string' && type.value === 'text'
}

const RESULT: ReadonlySet<string> = new Set([
  'cited_text',
  'error_message',
  'lines',
  'stderr',
  'stdout',
])

/** The input is an empty object, and deltas say it; one that is there already is whole. */
function readCall(json: string, block: JsonObjectNode, channel: string): Said {
  const input = present(member(block, 'input'))
  if (input === undefined || (input.type === 'object' && input.members.size === 0)) return NOTHING
  return input.type === 'string'
    ? goingOn([toolCallOf(input, `${channel} input`, true)])
    : whole([jsonToolCallOf(input, `${channel} whole_input`, json)])
}

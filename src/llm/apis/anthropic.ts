// Anthropic's messages API ↔ entries: system, blocks of content, and what tools were called with and said.

import type { Entry } from '../text/conversation.js'
import { messageEntries, stringEntry } from '../text/entries.js'
import { asArray, asString, member, present, type JsonObjectNode } from '../json/members.js'
import { OTHER_PARTS, PROSE } from '../text/prose.js'
import { typedEntries, type Grammar } from '../text/typed-entries.js'

/** Types that hold what a tool said. */
const TOOL_RESULTS = [
  'tool_result',
  'mcp_tool_result',
  'advisor_tool_result',
  'bash_code_execution_tool_result',
  'code_execution_tool_result',
  'text_editor_code_execution_tool_result',
  'tool_search_tool_result',
  'web_fetch_tool_result',
  'web_search_tool_result',
] as const

/** Of messages, whichever of the two APIs that have them they are for: each server passes over the other's types. */
export const BLOCKS: Grammar = {
  types: new Set([
    ...OTHER_PARTS,
    ...TOOL_RESULTS,
    ...['text', 'refusal', 'thinking', 'redacted_thinking', 'image', 'document', 'search_result'],
    ...['tool_use', 'server_tool_use', 'mcp_tool_use', 'container_upload', 'compaction'],
    ...['tool_reference', 'browser_state', 'fallback'],
    ...['mcp_tool_listing', 'tool_addition', 'tool_removal'],
    // Sources of documents and images.
    ...['base64', 'url', 'content'],
    // What stands in the results of tools that the API itself runs.
    ...TOOL_RESULTS.map((type) => `${type}_error`),
    ...['advisor_result', 'advisor_redacted_result'],
    ...['bash_code_execution_output', 'bash_code_execution_result'],
    ...['code_execution_output', 'code_execution_result', 'encrypted_code_execution_result'],
    ...['text_editor_code_execution_create_result', 'text_editor_code_execution_view_result'],
    ...['text_editor_code_execution_str_replace_result', 'tool_search_tool_search_result'],
    ...['web_fetch_result', 'web_search_result'],
  ]),
  typed: new Set(['content', 'source', 'system', 'thinking']),
  texts: new Set([
    ...[...PROSE, 'system', 'cited_text', 'lines', 'stderr', 'stdout', 'title', 'context'],
    'error_message',
    // A search result's is what its author calls it.
    'source',
  ]),
  // A document's source: its text itself.
  ownTexts: new Map([['text', 'data']]),
  calls: new Set(['input']),
  opaque: new Set(['input_schema']),
  toolResults: new Set(TOOL_RESULTS),
}

/** body: of a request. Strings and blocks. */
export function readSystem(body: JsonObjectNode, json: string): readonly Entry[] {
  const system = present(member(body, 'system'))
  if (system === undefined) return []
  if (system.type === 'string') return stringEntry(system, 'system', 'system')
  const speaker = { json, role: 'system', toolRole: 'tool' }
  return typedEntries(asArray(system, 'system'), 'system', speaker, BLOCKS)
}

/** body: with content. */
export function readAnthropicReply(body: JsonObjectNode, json: string): readonly Entry[] {
  const role = present(member(body, 'role'))
  const said = role === undefined ? 'assistant' : asString(role, 'a role').value
  const content = asArray(member(body, 'content'), 'content')
  const speaker = { json, role: said, toolRole: said }
  return messageEntries(typedEntries(content, 'content', speaker, BLOCKS), said)
}

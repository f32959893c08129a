// What items of the OpenAI Responses API and their parts may hold.

import { PROSE } from '../text/prose.js'
import type { Grammar } from '../text/typed-entries.js'

const TOOL_RESULTS = [
  'apply_patch_call_output',
  'computer_call_output',
  'custom_tool_call_output',
  'function_call_output',
  'local_shell_call_output',
  'shell_call_output',
  'tool_search_output',
] as const

export const ITEMS: Grammar = {
  types: new Set([
    ...TOOL_RESULTS,
    ...['message', 'reasoning', 'compaction', 'item_reference', 'image_generation_call'],
    ...['function_call', 'custom_tool_call', 'tool_search_call', 'computer_call'],
    ...['local_shell_call', 'shell_call', 'apply_patch_call', 'file_search_call'],
    ...['web_search_call', 'code_interpreter_call'],
    ...['mcp_call', 'mcp_list_tools', 'mcp_approval_request', 'mcp_approval_response'],
    // Parts.
    ...['input_text', 'output_text', 'text', 'refusal', 'summary_text', 'reasoning_text'],
    ...['input_image', 'input_file', 'input_audio', 'output_audio', 'computer_screenshot'],
    ...['logs', 'image'],
  ]),
  typed: new Set(['content', 'input', 'output', 'outputs', 'summary']),
  texts: new Set([
    ...[...PROSE, 'error', 'logs', 'message', 'output', 'queries', 'reason', 'revised_prompt'],
    ...['stderr', 'stdout'],
  ]),
  ownTexts: new Map([['code_interpreter_call', 'code']]),
  calls: new Set(['arguments', 'input', 'action', 'actions', 'operation']),
  opaque: new Set(['tools', 'logprobs']),
  toolResults: new Set(TOOL_RESULTS),
}

/** Members of a response that say the request again. */
export const OF_REQUEST: ReadonlySet<string> = new Set([
  ...['instructions', 'input', 'prompt', 'reasoning', 'text', 'tools', 'tool_choice'],
  ...['metadata', 'conversation'],
])

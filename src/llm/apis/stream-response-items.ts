// Output items of the OpenAI Responses API, as events add them, finish them and say them again.

import type { JsonNode } from '../json/json-text.js'
import {
  asArray,
  asObject,
  asString,
  member,
  present,
  type JsonObjectNode,
  type JsonStringNode,
} from '../json/members.js'
import { UnreadableForm } from '../json/unreadable-form.js'
import {
  isProse,
  jsonToolCallOf,
  provenSilent,
  sweep,
  sweepRest,
  textOf,
  toolCallOf,
  withLogprobs,
  type Picks,
  type SaidText,
} from '../text/stream-said.js'

export interface ItemTexts {
  /** What events with deltas say as well. */
  readonly spoken: readonly SaidText[]
  /** What only the item says. */
  readonly own: readonly SaidText[]
}

/** Types of items; one that is not here may hold texts where nobody looks. */
const ITEMS: ReadonlySet<string> = new Set([
  'apply_patch_call',
  'apply_patch_call_output',
  'code_interpreter_call',
  'compaction',
  'computer_call',
  'custom_tool_call',
  'file_search_call',
  'function_call',
  'image_generation_call',
  'local_shell_call',
  'mcp_approval_request',
  'mcp_call',
  'mcp_list_tools',
  'message',
  'reasoning',
  'shell_call',
  'shell_call_output',
  'tool_search_call',
  'tool_search_output',
  'web_search_call',
])

/** channel: the item's. */
export function itemTexts(json: string, node: JsonNode, channel: string): ItemTexts {
  const item = asObject(node, 'an output item')
  const type = asString(member(item, 'type'), 'the type of an item').value
  if (!ITEMS.has(type)) {
    provenSilent(item, 'an output item')
    return { spoken: [], own: [] }
  }
  const spoken = [
    ...partsOf(item, 'content', channel),
    ...partsOf(item, 'summary', channel),
    ...argumentsOf(json, item, channel),
    ...stringOf(item, 'input').map((input) => toolCallOf(input, `${channel} input`)),
    ...stringOf(item, 'code').map((code) => textOf(code, `${channel} code`)),
  ]
  const calls = CALLS.flatMap((name) => {
    const call = present(member(item, name))
    return call === undefined ? [] : sweep(call, `${channel} ${name}`, isOfCall)
  })
  const rest = sweepRest(item, channel, READ, isOutput)
  return { spoken, own: [...calls.map(asToolCall), ...rest] }
}

/** Where tools that the API itself knows are told what to do. */
const CALLS = ['action', 'actions', 'operation'] as const
const READ = new Set(['content', 'summary', 'arguments', 'input', 'code', 'tools', ...CALLS])

const isOfCall: Picks = (name) => OF_CALL.has(name)
const OF_CALL = new Set(['text', 'command', 'commands', 'diff', 'pattern', 'query', 'queries'])

const isOutput: Picks = (name) => isProse(name) || OUTPUT.has(name)
const OUTPUT = new Set(['logs', 'output', 'queries', 'revised_prompt', 'stderr', 'stdout'])

const asToolCall = (text: SaidText): SaidText => ({ ...text, kind: 'tool-call', role: 'tool_call' })

function partsOf(
  item: JsonObjectNode,
  name: 'content' | 'summary',
  channel: string,
): readonly SaidText[] {
  const parts = present(member(item, name))
  if (parts === undefined) return []
  if (parts.type === 'string') return [textOf(parts, `${channel} ${name} 0`)]
  return asArray(parts, name).items.flatMap((part, at) =>
    partTexts(part, `${channel} ${name} ${at}`),
  )
}

/** Types of parts; those of reasoning are among them. */
const PARTS: ReadonlySet<string> = new Set([
  'output_audio',
  'output_text',
  'reasoning_text',
  'refusal',
  'summary_text',
  'text',
])

/** channel: the part's: deltas say its text there, whatever it is called. */
export function partTexts(node: JsonNode, channel: string): readonly SaidText[] {
  const part = asObject(node, 'a part of an item')
  const type = asString(member(part, 'type'), 'the type of a part').value
  if (!PARTS.has(type)) {
    provenSilent(part, 'a part of an item')
    return []
  }
  const texts = ['text', 'refusal', 'transcript'].flatMap((name) =>
    stringOf(part, name).map((text) => textOf(text, channel)),
  )
  return [
    ...withLogprobs(part, channel, texts),
    ...sweepRest(part, channel, new Set(['text', 'refusal', 'transcript', 'logprobs'])),
  ]
}

function argumentsOf(json: string, item: JsonObjectNode, channel: string): readonly SaidText[] {
  const given = present(member(item, 'arguments'))
  if (given === undefined) return []
  if (given.type === 'string') return [toolCallOf(given, `${channel} arguments`, true)]
  if (given.type !== 'object') throw new UnreadableForm('arguments are not JSON')
  return [jsonToolCallOf(given, `${channel} arguments`, json)]
}

function stringOf(node: JsonObjectNode, name: string): readonly JsonStringNode[] {
  const given = present(member(node, name))
  return given === undefined ? [] : [asString(given, name)]
}

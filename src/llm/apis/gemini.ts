// Gemini's generateContent ↔ entries: parts of contents and candidates. Every name has two spellings, as in all JSON of protobuf.

import type { Entry } from '../text/conversation.js'
import { callEntry, jsonEntry, messageEntries, stringEntry, withLogprobs } from '../text/entries.js'
import type { JsonNode } from '../json/json-text.js'
import {
  asObject,
  asString,
  either,
  expectNoText,
  member,
  present,
  type JsonObjectNode,
} from '../json/members.js'
import { PROSE } from '../text/prose.js'
import { typedEntries, type Grammar, type Speaker } from '../text/typed-entries.js'

/** body: with contents or a system instruction. */
export const readGeminiRequest = (body: JsonObjectNode, json: string): readonly Entry[] => [
  ...listOf(either(body, 'systemInstruction', 'system_instruction')).flatMap((content) =>
    contentEntries(content, { json, role: 'system', toolRole: 'tool' }),
  ),
  ...listOf(present(member(body, 'contents'))).flatMap((content) =>
    contentEntries(content, { json, role: roleOf(content, 'user'), toolRole: 'tool' }),
  ),
]

/** body: with candidates or the feedback on a prompt that was refused. */
export const readGeminiReply = (body: JsonObjectNode, json: string): readonly Entry[] => [
  ...candidateEntries(body, json),
  // LiteLLM says the text once more beside the candidates.
  ...[...body.members]
    .filter(([name]) => name !== 'candidates')
    .flatMap(([name, value]) =>
      typedEntries(value, name, { json, role: 'assistant', toolRole: 'assistant' }, GROUNDING),
    ),
]

const candidateEntries = (body: JsonObjectNode, json: string): readonly Entry[] =>
  listOf(present(member(body, 'candidates'))).flatMap((item) => {
    const candidate = asObject(item, 'a candidate')
    const content = present(member(candidate, 'content'))
    const role = content === undefined ? 'assistant' : roleOf(content, 'model')
    const speaker = { json, role, toolRole: role }
    const said = content === undefined ? [] : contentEntries(content, speaker)
    const more = [...candidate.members]
      .filter(([name]) => name !== 'content')
      .flatMap(([name, value]) => typedEntries(value, name, speaker, GROUNDING))
    const name = candidate.members.has('logprobs_result') ? 'logprobs_result' : 'logprobsResult'
    return withLogprobs([...said, ...more], candidate, role, name)
  })

/** What was searched for, and the passages that a search is about. */
const GROUNDING: Grammar = {
  types: new Set(),
  typed: new Set(),
  texts: new Set([
    ...[...PROSE, 'title', 'renderedContent', 'rendered_content'],
    ...['webSearchQueries', 'web_search_queries', 'retrievalQueries', 'retrieval_queries'],
  ]),
  ownTexts: new Map(),
  calls: new Set(),
  opaque: new Set(['logprobsResult', 'logprobs_result']),
  toolResults: new Set(),
}

/** One item is taken for a list of it. */
const listOf = (node: JsonNode | undefined): readonly JsonNode[] => {
  if (node === undefined) return []
  return node.type === 'array' ? node.items : [node]
}

/** As the other APIs name it. */
function roleOf(node: JsonNode, otherwise: string): string {
  const given = present(member(asObject(node, 'a content'), 'role'))
  const role = given === undefined ? otherwise : asString(given, 'a role').value
  return role === 'model' ? 'assistant' : role
}

function contentEntries(node: JsonNode, speaker: Speaker): readonly Entry[] {
  const content = asObject(node, 'a content')
  for (const [name, value] of content.members)
    if (name !== 'parts') expectNoText(value, 'a content', name)
  const parts = listOf(present(member(content, 'parts')))
  const entries = parts.flatMap((part) => partEntries(asObject(part, 'a part'), speaker))
  return messageEntries(entries, speaker.role)
}

function partEntries(part: JsonObjectNode, speaker: Speaker): readonly Entry[] {
  for (const [name, value] of part.members) if (!READ.has(name)) expectNoText(value, 'a part', name)
  const inner = (name: string, other: string): JsonNode | undefined => either(part, name, other)
  return [
    ...stringEntry(member(part, 'text'), speaker.role, 'text'),
    ...codeEntries(inner('executableCode', 'executable_code'), 'code', speaker.role),
    ...codeEntries(
      inner('codeExecutionResult', 'code_execution_result'),
      'output',
      speaker.toolRole,
    ),
    ...callEntries(inner('functionCall', 'function_call'), speaker.json),
    ...callEntries(inner('toolCall', 'tool_call'), speaker.json),
    ...resultEntries(inner('functionResponse', 'function_response'), speaker),
    ...resultEntries(inner('toolResponse', 'tool_response'), speaker),
  ]
}

/** Members of a part that are read, or hold media and what is about them. */
const READ: ReadonlySet<string> = new Set([
  ...['text', 'thoughtSignature', 'thought_signature'],
  ...['executableCode', 'executable_code', 'codeExecutionResult', 'code_execution_result'],
  ...['functionCall', 'function_call', 'functionResponse', 'function_response'],
  ...['toolCall', 'tool_call', 'toolResponse', 'tool_response'],
  ...['inlineData', 'inline_data', 'fileData', 'file_data', 'videoMetadata', 'video_metadata'],
  ...['mediaResolution', 'media_resolution'],
])

/** What the model runs by itself, and what came out. */
function codeEntries(
  node: JsonNode | undefined,
  name: 'code' | 'output',
  role: string,
): readonly Entry[] {
  if (node === undefined) return []
  const code = asObject(node, 'code')
  for (const [other, value] of code.members)
    if (![name, 'language', 'outcome'].includes(other)) expectNoText(value, 'code', other)
  return stringEntry(member(code, name), role, name)
}

function callEntries(node: JsonNode | undefined, json: string): readonly Entry[] {
  if (node === undefined) return []
  const call = asObject(node, 'a call')
  expectKnown(call, 'args')
  const args = present(member(call, 'args'))
  return args === undefined ? [] : [callEntry(args, json, true)]
}

/** Its media are no text. */
function resultEntries(node: JsonNode | undefined, speaker: Speaker): readonly Entry[] {
  if (node === undefined) return []
  const result = asObject(node, 'a response')
  expectKnown(result, 'response', 'parts')
  const response = present(member(result, 'response'))
  const parts = listOf(present(member(result, 'parts')))
  const { toolRole: role } = speaker
  return [
    ...(response === undefined ? [] : [jsonEntry(response, role, speaker.json)]),
    ...parts.flatMap((part) => partEntries(asObject(part, 'a part'), { ...speaker, role })),
  ]
}

function expectKnown(object: JsonObjectNode, ...names: readonly string[]): void {
  const known = [...names, 'toolType', 'tool_type', 'scheduling']
  for (const [name, value] of object.members)
    if (!known.includes(name)) expectNoText(value, 'a call or its response', name)
}

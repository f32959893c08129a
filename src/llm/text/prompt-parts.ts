// What servers put into a prompt beside its messages and its input, under members that OpenAI's API does not have.

import type { Entry } from './conversation.js'
import { proseEntries, stringEntry, stringsBelow } from './entries.js'
import type { JsonNode } from '../json/json-text.js'
import { asObject, member, present, type JsonObjectNode } from '../json/members.js'

/** body: with messages or input. */
export const promptParts = (body: JsonObjectNode): readonly Entry[] => [
  // vLLM and llama.cpp: documents, the template and what it is filled with.
  ...stringsBelow(member(body, 'documents'), 'user'),
  ...stringsBelow(member(body, 'chat_template'), 'system'),
  ...stringsBelow(member(body, 'chat_template_kwargs'), 'system'),
  ...earlierMessages(present(member(body, 'previous_input_messages'))),
  ...summaryEntries(body),
]

const NONE: ReadonlySet<string> = new Set()

/** The conversation so far, as vLLM takes it beside an input. */
const earlierMessages = (node: JsonNode | undefined): readonly Entry[] =>
  node?.type === 'array'
    ? node.items.flatMap((item) => proseEntries(asObject(item, 'a message'), 'user', NONE))
    : []

/** How Anthropic's model is to sum up what was said. */
const summaryEntries = (body: JsonObjectNode): readonly Entry[] =>
  ['compaction', 'context_management'].flatMap((name) => {
    const given = present(member(body, name))
    return given === undefined ? [] : instructionEntries(given)
  })

function instructionEntries(node: JsonNode): readonly Entry[] {
  if (node.type === 'array') return node.items.flatMap(instructionEntries)
  if (node.type !== 'object') return []
  return [
    ...stringEntry(member(node, 'instructions'), 'system', 'instructions'),
    ...[...node.members.values()].flatMap(instructionEntries),
  ]
}

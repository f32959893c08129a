// OpenAI chat completions ↔ entries: every text of a message, wherever the API or servers that speak it put one.

import { BLOCKS, readSystem } from './anthropic.js'
import type { Entry } from '../text/conversation.js'
import {
  messageEntries,
  proseEntries,
  textEntry,
  toolCallEntry,
  withLogprobs,
} from '../text/entries.js'
import { span, type JsonNode } from '../json/json-text.js'
import {
  asArray,
  asObject,
  asString,
  member,
  present,
  type JsonObjectNode,
} from '../json/members.js'
import { promptParts } from '../text/prompt-parts.js'
import { NOT_PROSE } from '../text/prose.js'
import { typedEntries, type Speaker } from '../text/typed-entries.js'

/** body: with messages, and perhaps Anthropic's system. Texts of both APIs that have messages are found. */
export const readMessagesRequest = (body: JsonObjectNode, json: string): readonly Entry[] => [
  ...readSystem(body, json),
  ...asArray(member(body, 'messages'), 'messages').items.flatMap((item) => {
    const message = asObject(item, 'a message')
    const role = asString(member(message, 'role'), 'a role').value
    return chatMessage(message, { json, role, toolRole: 'tool' })
  }),
  ...predictionEntries(body, json),
  ...promptParts(body),
]

/** What the client expects the model to say. */
function predictionEntries(body: JsonObjectNode, json: string): readonly Entry[] {
  const prediction = present(member(body, 'prediction'))
  if (prediction === undefined) return []
  const content = member(asObject(prediction, 'the prediction'), 'content')
  return contentEntries(content, { json, role: 'assistant', toolRole: 'tool' })
}

/** choices: of a reply, each with a message. */
export const readChatChoices = (
  choices: readonly JsonObjectNode[],
  json: string,
): readonly Entry[] =>
  choices.flatMap((choice) => {
    const message = asObject(member(choice, 'message'), 'the message of a choice')
    const given = present(member(message, 'role'))
    const role = given === undefined ? 'assistant' : asString(given, 'a role').value
    const said = chatMessage(message, { json, role, toolRole: role })
    const more = proseEntries(choice, role, IN_CHOICE)
    return withLogprobs([...said, ...more], choice, role)
  })

/** Members of a choice that are read by themselves. */
const IN_CHOICE: ReadonlySet<string> = new Set(['message', 'logprobs'])

function chatMessage(message: JsonObjectNode, speaker: Speaker): readonly Entry[] {
  const content = member(message, 'content')
  // What models that reason, refuse or speak say beside content.
  const more = proseEntries(message, speaker.role, NOT_PROSE)
  const said = [...contentEntries(content, speaker), ...more]
  const entries = messageEntries([...said, ...toolCallEntries(message)], speaker.role)
  if (content?.type !== 'null') return entries
  // Text can be given to a message that has none.
  return entries.map((entry) => (isNone(entry) ? { ...entry, place: span(content) } : entry))
}

const isNone = ({ kind, place }: Entry): boolean => kind === 'text' && place === undefined

function contentEntries(node: JsonNode | undefined, speaker: Speaker): readonly Entry[] {
  const content = present(node)
  if (content === undefined) return []
  if (content.type === 'string') return [textEntry(content, speaker.role)]
  return asArray(content, 'content').items.flatMap((item) => {
    const part = asObject(item, 'a part of content')
    asString(member(part, 'type'), 'the type of a part')
    return typedEntries(part, 'content', speaker, BLOCKS)
  })
}

function toolCallEntries(message: JsonObjectNode): readonly Entry[] {
  const calls = present(member(message, 'tool_calls'))
  const old = present(member(message, 'function_call'))
  const functions = [
    ...(calls === undefined ? [] : asArray(calls, 'tool_calls').items).map((call) =>
      toolCall(asObject(call, 'a tool call')),
    ),
    ...(old === undefined ? [] : [functionArguments(old)]),
  ]
  return functions.flatMap((entry) => entry ?? [])
}

function toolCall(call: JsonObjectNode): Entry | undefined {
  const custom = present(member(call, 'custom'))
  if (custom === undefined) return functionArguments(member(call, 'function'))
  const input = present(member(asObject(custom, 'a custom tool call'), 'input'))
  return input === undefined ? undefined : toolCallEntry(asString(input, 'an input'), false)
}

function functionArguments(node: JsonNode | undefined): Entry | undefined {
  const given = present(member(asObject(node, 'a function call'), 'arguments'))
  return given === undefined ? undefined : toolCallEntry(asString(given, 'arguments'), true)
}

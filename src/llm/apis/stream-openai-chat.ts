// A chunk of a streamed OpenAI chat completion: what every choice goes on to say.

import type { JsonNode } from '../json/json-text.js'
import {
  asArray,
  asObject,
  asString,
  member,
  present,
  type JsonObjectNode,
} from '../json/members.js'
import { UnreadableForm } from '../json/unreadable-form.js'
import { NOT_PROSE, OTHER_PARTS } from '../text/prose.js'
import { readChoices, type ChoiceReader } from '../text/stream-choices.js'
import {
  goingOn,
  indexOf,
  provenSilent,
  repeated,
  sweep,
  sweepRest,
  textOf,
  together,
  toolCallOf,
  type Said,
  type SaidText,
} from '../text/stream-said.js'

/** root: with choices. */
export const readChatChunk = (json: string, root: JsonObjectNode): Said =>
  readChoices(json, root, READ, readChoice)

const READ: ReadonlySet<string> = new Set(['delta', 'message'])

const readChoice: ChoiceReader = (json, choice, channel) => {
  const delta = present(member(choice, 'delta'))
  const message = present(member(choice, 'message'))
  return together([
    ...(delta === undefined ? [] : [readDelta(json, asObject(delta, 'a delta'), channel)]),
    ...(message === undefined ? [] : [readMessage(json, asObject(message, 'a message'), channel)]),
  ])
}

function readDelta(json: string, delta: JsonObjectNode, channel: string): Said {
  const texts = [...contentTexts(delta, channel), ...sweepRest(delta, channel, NOT_PROSE)]
  const speaks = (of: string): boolean =>
    texts.some((text) => text.channel === `${channel} ${of}` && text.text !== '')
  // A model thinks before it speaks: what it thought need not wait for the end of what it says.
  const thoughts = THOUGHTS.filter((name) => speaks('content') && !speaks(name))
  const ends = thoughts.map((name) => `${channel} ${name}`)
  return { texts: [...texts, ...toolCalls(json, delta, channel)], ends }
}

const THOUGHTS = ['reasoning', 'reasoning_content', 'reasoning_details', 'content thinking']

/** Some servers put the message so far, or the whole one, beside or instead of a delta. */
function readMessage(json: string, message: JsonObjectNode, channel: string): Said {
  const isText = present(member(message, 'content'))?.type === 'string'
  const content = contentTexts(message, isText ? channel : `${channel} message`)
  const texts = [...sweepRest(message, channel, NOT_PROSE), ...toolCalls(json, message, channel)]
  return goingOn([...(isText ? repeated(content) : content), ...repeated(texts)])
}

function contentTexts(said: JsonObjectNode, channel: string): readonly SaidText[] {
  const content = present(member(said, 'content'))
  if (content === undefined) return []
  if (content.type === 'string') return [textOf(content, `${channel} content`)]
  return asArray(content, 'content').items.flatMap((part) =>
    partTexts(asObject(part, 'a part of content'), channel),
  )
}

function partTexts(part: JsonObjectNode, channel: string): readonly SaidText[] {
  const type = asString(member(part, 'type'), 'the type of a part').value
  if (type === 'text') {
    const text = textOf(asString(member(part, 'text'), 'text'), `${channel} content`)
    return [text, ...sweepRest(part, `${channel} content`, TEXT)]
  }
  const texts = sweep(part, `${channel} content`)
  if (type === 'refusal' || type === 'thinking') return texts
  if (!OTHER_PARTS.has(type)) provenSilent(part, 'a part of content')
  else if (texts.length > 0) throw new UnreadableForm('a part of content has text beside it')
  return []
}

const TEXT: ReadonlySet<string> = new Set(['text'])

function toolCalls(json: string, said: JsonObjectNode, channel: string): readonly SaidText[] {
  const calls = present(member(said, 'tool_calls'))
  const items = calls === undefined ? [] : asArray(calls, 'tool_calls').items
  const old = present(member(said, 'function_call'))
  return [
    ...items.flatMap((item, at) => {
      const call = asObject(item, 'a tool call')
      return toolCall(call, `${channel} tool_calls ${indexOf(json, member(call, 'index'), at)}`)
    }),
    ...callTexts(old, 'arguments', `${channel} function_call`),
  ]
}

const toolCall = (call: JsonObjectNode, channel: string): readonly SaidText[] => [
  ...callTexts(member(call, 'function'), 'arguments', channel),
  ...callTexts(member(call, 'custom'), 'input', channel),
  ...sweepRest(call, channel, CALLED),
]

const CALLED: ReadonlySet<string> = new Set(['function', 'custom'])

function callTexts(
  node: JsonNode | undefined,
  name: 'arguments' | 'input',
  channel: string,
): readonly SaidText[] {
  const given = present(node)
  if (given === undefined) return []
  const call = asObject(given, 'a function call')
  const said = present(member(call, name))
  const rest = sweepRest(call, channel, new Set([name]))
  if (said === undefined) return rest
  return [toolCallOf(asString(said, name), channel, name === 'arguments'), ...rest]
}

// A chunk of a streamed reply of Gemini's generateContent: parts of what every candidate says, each tool call whole.

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
import { errorTexts } from '../text/stream-error-event.js'
import {
  goingOn,
  indexOf,
  isNoLabel,
  isProse,
  jsonToolCallOf,
  NOTHING,
  sweep,
  sweepRest,
  textOf,
  together,
  toolCallOf,
  whole,
  withLogprobs,
  type Picks,
  type Said,
  type SaidText,
} from '../text/stream-said.js'

/** Members of a chunk; one of them tells that it is Gemini's. */
export const GEMINI_MARKS = ['candidates', 'promptFeedback', 'usageMetadata'] as const

export function readGeminiChunk(json: string, root: JsonObjectNode): Said {
  const candidates = present(member(root, 'candidates'))
  const items = candidates === undefined ? [] : asArray(candidates, 'candidates').items
  return together([
    ...items.map((item, at) => readCandidate(json, asObject(item, 'a candidate'), at)),
    whole(sweepRest(root, '', OUTSIDE)),
    whole(errorTexts(root)),
  ])
}

const OUTSIDE: ReadonlySet<string> = new Set(['candidates', 'error'])

function readCandidate(json: string, candidate: JsonObjectNode, at: number): Said {
  const channel = indexOf(json, member(candidate, 'index'), at)
  const content = present(member(candidate, 'content'))
  const said = content === undefined ? NOTHING : readContent(json, content, channel)
  const texts = withLogprobs(candidate, channel, said.texts, 'logprobsResult')
  const more = whole(sweepRest(candidate, channel, INSIDE, isGrounding))
  const isLast = present(member(candidate, 'finishReason')) !== undefined
  return together([
    { texts, ends: said.ends },
    isLast ? { texts: more.texts, ends: [channel] } : more,
  ])
}

const INSIDE: ReadonlySet<string> = new Set(['content', 'finishReason', 'index', 'logprobsResult'])

/** What it was searched for, and the passages that a search is about. */
const isGrounding: Picks = (name) => isProse(name) || SEARCHED.has(name)
const SEARCHED = new Set(['renderedcontent', 'retrievalqueries', 'websearchqueries'])

function readContent(json: string, node: JsonNode, channel: string): Said {
  const content = asObject(node, 'content')
  const given = present(member(content, 'role'))
  const own = given === undefined ? 'model' : asString(given, 'a role').value
  const role = own === 'model' ? 'assistant' : own
  const parts = present(member(content, 'parts'))
  const items = parts === undefined ? [] : asArray(parts, 'parts').items
  return together([
    ...items.map((item, at) => readPart(json, asObject(item, 'a part'), { channel, role, at })),
    whole(sweepRest(content, channel, new Set(['parts', 'role']))),
  ])
}

interface Place {
  readonly channel: string
  readonly role: string
  readonly at: number
}

function readPart(json: string, part: JsonObjectNode, place: Place): Said {
  const { channel, at } = place
  for (const [name, value] of part.members)
    if (!PART_MEMBERS.has(name) && sweep(value, '', isNoLabel, name).length > 0)
      throw new UnreadableForm('a part is of a form that is not known')
  return together([
    readText(json, part, place),
    ...Object.entries(CALLS).map(([name, word]) => {
      const call = present(member(part, name))
      return call === undefined
        ? NOTHING
        : readCall(json, asObject(call, 'a call'), `${channel} ${word} ${at}`)
    }),
    ...RESPONSES.map((name) => {
      const response = present(member(part, name))
      return response === undefined
        ? NOTHING
        : readResponse(json, asObject(response, 'a response'), `${channel} ${name} ${at}`)
    }),
    ...Object.entries(CODE).map(([name, inner]) => {
      const code = present(member(part, name))
      return code === undefined ? NOTHING : whole(sweep(code, `${channel} ${name} ${at}`, inner))
    }),
  ])
}

/** Of the client's tools, and of those that the server runs: member → word in the channel's name. */
const CALLS: Readonly<Record<string, string>> = { functionCall: 'call', toolCall: 'toolCall' }
const RESPONSES = ['functionResponse', 'toolResponse'] as const

const PART_MEMBERS: ReadonlySet<string> = new Set([
  ...[...Object.keys(CALLS), ...RESPONSES],
  ...['text', 'thought', 'thoughtSignature', 'executableCode'],
  ...['codeExecutionResult', 'inlineData', 'fileData', 'videoMetadata', 'mediaResolution'],
])

/** What the model runs by itself, and what came out. */
const CODE: Readonly<Record<string, Picks>> = {
  executableCode: (name) => name === 'code',
  codeExecutionResult: (name) => name === 'output',
}

/** A model thinks before it speaks: what it thought need not wait for the end of what it says. */
function readText(json: string, part: JsonObjectNode, { channel, role }: Place): Said {
  const node = present(member(part, 'text'))
  if (node === undefined) return NOTHING
  const text = asString(node, 'text')
  const thought = present(member(part, 'thought'))
  const isThought = thought !== undefined && json.slice(thought.start, thought.end) !== 'false'
  if (isThought) return goingOn([textOf(text, `${channel} thought`, role)])
  const ends = text.value === '' ? [] : [`${channel} thought`]
  return { texts: [textOf(text, `${channel} text`, role)], ends }
}

/** Arguments are an object, or come one by one, as their values grow. */
function readCall(json: string, call: JsonObjectNode, channel: string): Said {
  const args = present(member(call, 'args'))
  const partial = present(member(call, 'partialArgs'))
  const values = partial === undefined ? [] : asArray(partial, 'partialArgs').items
  return together([
    args === undefined ? NOTHING : whole([jsonToolCallOf(args, channel, json)]),
    whole(sweepRest(call, channel, CALLED)),
    ...values.map((item) => readValue(asObject(item, 'an argument'), channel)),
  ])
}

const CALLED: ReadonlySet<string> = new Set(['args', 'partialArgs'])

/** What a tool returned, as JSON. */
function readResponse(json: string, response: JsonObjectNode, channel: string): Said {
  const said = present(member(response, 'response'))
  const rest = whole(sweepRest(response, channel, new Set(['response'])))
  if (said === undefined) return rest
  const text: SaidText = {
    ...jsonToolCallOf(said, `${channel} response`, json),
    kind: 'text',
    role: 'assistant',
  }
  return together([whole([text]), rest])
}

function readValue(value: JsonObjectNode, channel: string): Said {
  const text = present(member(value, 'stringValue'))
  if (text === undefined) return NOTHING
  const path = present(member(value, 'jsonPath'))
  const name = path?.type === 'string' ? path.value : ''
  return goingOn([toolCallOf(asString(text, 'an argument'), `${channel} ${name}`)])
}

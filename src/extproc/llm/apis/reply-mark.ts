// Determines the API of a whole reply by its members (decision 18).

import type { JsonNode } from '../../../kit/json/json-node.js'
import { type JsonObjectNode, member } from '../../../kit/json/members.js'
import { UnreadableForm } from '../../../kit/json/unreadable-form.js'
import { threadObject } from './threads.js'

/** Members of replies, one per API. completion: of an old API of Anthropic, which is not supported. */
const MARKS = ['choices', 'content', 'output', 'candidates', 'data', 'completion'] as const

/** Marks of a reply that has none of those, each with the type of its value. */
const LESSER_MARKS = {
  message: 'object',
  response: 'string',
  outputs: 'array',
  steps: 'array',
  results: 'array',
  embeddings: 'array',
  embedding: 'array',
  promptFeedback: 'object',
  prompt_feedback: 'object',
} as const satisfies Readonly<Record<string, JsonNode['type']>>

type LesserMark = keyof typeof LESSER_MARKS
const LESSER = Object.keys(LESSER_MARKS) as readonly LesserMark[]

/** What a whole reply is marked by. */
export type ReplyMark = (typeof MARKS)[number] | LesserMark | 'converse' | 'thread'

/** Whether a body has a member that marks a reply of a model. */
export const isMarked = (body: JsonObjectNode): boolean =>
  [...MARKS, ...LESSER].some((name) => member(body, name) !== undefined)

/** Returns undefined for a reply of no form that is known. @throws UnreadableForm for one of two forms. */
export function markOf(body: JsonObjectNode): ReplyMark | undefined {
  if (threadObject(body) !== undefined) return 'thread'
  const [mark, ...others] = MARKS.filter((name) => member(body, name) !== undefined)
  if (others.length > 0) throw new UnreadableForm('it is of two forms at once')
  if (mark === 'output' && member(body, mark)?.type === 'object') return 'converse'
  return mark ?? LESSER.find((name) => member(body, name)?.type === LESSER_MARKS[name])
}

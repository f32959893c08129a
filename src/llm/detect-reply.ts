// Determines the API of a whole reply by its members (decision 18).

import { type JsonObjectNode, member } from '../json/members.js'
import { UnreadableForm } from '../json/unreadable-form.js'

/** Members of replies, one per API. completion: of an old API of Anthropic, which is not supported. */
const MARKS = ['choices', 'content', 'output', 'candidates', 'data', 'completion'] as const

/** Marks of a reply that has none of those. */
const LESSER_MARKS = ['results', 'promptFeedback', 'prompt_feedback'] as const

/** What a whole reply is marked by. */
export type ReplyMark = (typeof MARKS)[number] | (typeof LESSER_MARKS)[number]

/** Whether a body has a member that marks a reply of a model. */
export const isMarked = (body: JsonObjectNode): boolean =>
  [...MARKS, ...LESSER_MARKS].some((name) => member(body, name) !== undefined)

/** Returns undefined for a reply of no form that is known. @throws UnreadableForm for one of two forms. */
export function markOf(body: JsonObjectNode): ReplyMark | undefined {
  const [mark, ...others] = MARKS.filter((name) => member(body, name) !== undefined)
  if (others.length > 0) throw new UnreadableForm('it is of two forms at once')
  return mark ?? LESSER_MARKS.find((name) => member(body, name) !== undefined)
}

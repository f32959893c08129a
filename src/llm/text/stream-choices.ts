// What the chunks of OpenAI's chat completions and of its completions share: choices, their log probabilities, their end.

import {
  asArray,
  asObject,
  asString,
  member,
  present,
  type JsonObjectNode,
} from '../json/members.js'
import {
  goingOn,
  indexOf,
  sweepRest,
  textOf,
  together,
  whole,
  withLogprobs,
  type Said,
  type SaidText,
} from './stream-said.js'
import { errorTexts } from './stream-error-event.js'

/** channel: that of the choice. */
export type ChoiceReader = (json: string, choice: JsonObjectNode, channel: string) => Said

/** read: the members of a choice that readChoice reads. */
export const readChoices = (
  json: string,
  root: JsonObjectNode,
  read: ReadonlySet<string>,
  readChoice: ChoiceReader,
): Said =>
  together([
    ...asArray(member(root, 'choices'), 'choices').items.map((item, at) => {
      const choice = asObject(item, 'a choice')
      const channel = indexOf(json, member(choice, 'index'), at)
      const { texts, ends } = together([
        goingOn(choiceText(choice, channel)),
        readChoice(json, choice, channel),
        whole(sweepRest(choice, channel, new Set([...read, ...COMMON]))),
      ])
      const isLast = present(member(choice, 'finish_reason')) !== undefined
      // Log probabilities that ran ahead of the text need not wait for more of their kind.
      const isSaid =
        present(member(choice, 'logprobs')) !== undefined && texts.some(({ text }) => text !== '')
      return {
        texts: withLogprobs(choice, channel, texts),
        ends: isLast ? [channel] : isSaid ? [...ends, `${channel} logprobs`] : ends,
      }
    }),
    whole(sweepRest(root, '', OUTSIDE)),
    whole(errorTexts(root)),
  ])

const COMMON = ['index', 'text', 'logprobs', 'finish_reason']
const OUTSIDE: ReadonlySet<string> = new Set(['choices', 'error'])

/** Of completions; some servers of chat completions put it beside the delta. */
function choiceText(choice: JsonObjectNode, channel: string): readonly SaidText[] {
  const text = present(member(choice, 'text'))
  return text === undefined ? [] : [textOf(asString(text, 'text'), `${channel} text`)]
}

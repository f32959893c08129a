// OpenAI completions (the old API, without messages) ↔ entries: prompts, a suffix, the text of every choice.

import { UnreadableForm, type Entry } from './conversation.js'
import { stringEntry, textEntry, withLogprobs } from './entries.js'
import { asArray, asString, member, present, type JsonObjectNode } from './members.js'
import { PROSE } from './prose.js'
import { typedEntries, type Grammar } from './typed-entries.js'

/** body: with prompt or suffix. */
export function readCompletionsRequest(body: JsonObjectNode): readonly Entry[] {
  // Prompts in the form of vectors, of which nobody can tell what they say.
  if (present(member(body, 'prompt_embeds')) !== undefined)
    throw new UnreadableForm('a prompt is of vectors')
  const prompt = present(member(body, 'prompt'))
  const suffix = stringEntry(member(body, 'suffix'), 'user', 'the suffix')
  if (prompt === undefined || prompt.type === 'string')
    return [...stringEntry(prompt, 'user', 'the prompt'), ...suffix]
  // Lists of tokens are lists of numbers: not strings.
  const prompts = asArray(prompt, 'the prompt').items.map((item) => asString(item, 'a prompt'))
  return [...prompts.map((text) => textEntry(text, 'user')), ...suffix]
}

/** choices: of a reply, each without a message. */
export const readCompletionChoices = (
  choices: readonly JsonObjectNode[],
  json: string,
): readonly Entry[] =>
  choices.flatMap((choice) => {
    const role = 'assistant'
    asString(member(choice, 'text'), 'the text of a choice')
    return withLogprobs(
      typedEntries(choice, '', { json, role, toolRole: role }, CHOICE),
      choice,
      role,
    )
  })

const CHOICE: Grammar = {
  types: new Set(),
  typed: new Set(),
  texts: PROSE,
  ownTexts: new Map(),
  calls: new Set(),
  opaque: new Set(['logprobs', 'prompt_logprobs']),
  toolResults: new Set(),
}

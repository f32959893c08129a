// OpenAI completions (the old API, without messages) ↔ entries: prompts, a suffix, the text of every choice.

import type { JsonNode } from '../json/json-text.js'
import { asArray, asString, member, present, type JsonObjectNode } from '../json/members.js'
import { UnreadableForm } from '../json/unreadable-form.js'
import type { Entry } from '../text/conversation.js'
import { stringEntry, stringsBelow, textEntry, withLogprobs } from '../text/entries.js'
import { PROSE } from '../text/prose.js'
import { typedEntries, type Grammar } from '../text/typed-entries.js'

/** body: with prompt or suffix. */
export function readCompletionsRequest(body: JsonObjectNode): readonly Entry[] {
  // Prompts in the form of vectors or, with Ollama, of what it said before: nobody can tell what they say.
  for (const name of ['prompt_embeds', 'context'])
    if (present(member(body, name)) !== undefined)
      throw new UnreadableForm('a prompt is of vectors or tokens')
  return [...promptEntries(present(member(body, 'prompt'))), ...besidePrompt(body)]
}

function promptEntries(prompt: JsonNode | undefined): readonly Entry[] {
  if (prompt === undefined || prompt.type === 'string')
    return stringEntry(prompt, 'user', 'the prompt')
  // Lists of tokens are lists of numbers: not strings.
  const prompts = asArray(prompt, 'the prompt').items.map((item) => asString(item, 'a prompt'))
  return prompts.map((text) => textEntry(text, 'user'))
}

/** The suffix, and what Ollama and llama.cpp put around the prompt as well. */
const besidePrompt = (body: JsonObjectNode): readonly Entry[] => [
  ...stringEntry(member(body, 'suffix'), 'user', 'the suffix'),
  ...stringsBelow(member(body, 'template'), 'system'),
  ...['input_prefix', 'input_suffix', 'input_extra'].flatMap((name) =>
    stringsBelow(member(body, name), 'user'),
  ),
]

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

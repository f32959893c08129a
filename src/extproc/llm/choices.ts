// How many choices a request asks for: n of OpenAI's APIs, candidateCount of Gemini's, one for each prompt of completions.

import type { JsonNode } from '../../kit/json/json-node.js'
import type { JsonText } from '../../kit/json/json-text.js'
import { present } from '../../kit/json/members.js'

/** Whether a request asks for one choice alone. */
export function asksForOneChoice({ root, text }: JsonText): boolean {
  const isOne = (node: JsonNode | undefined): boolean => {
    const given = present(node)
    return given === undefined || Number(text.slice(given.start, given.end)) === 1
  }
  const prompt = memberOf(root, 'prompt')
  const settings = ['generationConfig', 'generation_config'].map((name) => memberOf(root, name))
  return (
    isOne(memberOf(root, 'n')) &&
    !(prompt?.type === 'array' && prompt.items.length > 1) &&
    settings.every((object) =>
      ['candidateCount', 'candidate_count'].every((name) => isOne(memberOf(object, name))),
    )
  )
}

const memberOf = (node: JsonNode | undefined, name: string): JsonNode | undefined =>
  node?.type === 'object' ? node.members.get(name) : undefined

// Reads the model and the token counts from a body or event of an LLM.

import type { JsonNode } from '../../../kit/json/json-node.js'
import type { JsonText } from '../../../kit/json/json-text.js'
import { ownPart } from '../../../kit/own-text.js'

/** The model and token counts; members that the body does not have are absent. */
export interface Usage {
  readonly model?: string
  readonly inputTokens?: number
  readonly outputTokens?: number
}

/** Members that hold a reply within an event: Anthropic's message_start, and the Responses API. */
const WRAPPERS = ['message', 'response']

/** Names of each value in the APIs. */
const NAMES = {
  model: ['model', 'modelVersion'],
  usage: ['usage', 'usageMetadata'],
  input: ['prompt_tokens', 'input_tokens', 'promptTokenCount'],
  output: ['completion_tokens', 'output_tokens', 'candidatesTokenCount'],
} as const

/** Longer than the name of any model; metrics and spans keep it. */
const LONGEST_MODEL = 256

/** Returns undefined if the body contains none of the values. */
export function usageOf({ root, text }: Pick<JsonText, 'root' | 'text'>): Usage | undefined {
  const holders = [root, ...WRAPPERS.map((name) => memberOf(root, name))]
  let usage: Usage | undefined
  for (const holder of holders) {
    const model = first(holder, NAMES.model)
    const counts = first(holder, NAMES.usage)
    if (model?.type !== 'string' && counts?.type !== 'object') continue
    const inputTokens = numberIn(first(counts, NAMES.input), text)
    const outputTokens = numberIn(first(counts, NAMES.output), text)
    usage = {
      ...usage,
      ...(model?.type === 'string' && {
        model: ownPart(model.value.slice(0, LONGEST_MODEL), text),
      }),
      ...(inputTokens !== undefined && { inputTokens }),
      ...(outputTokens !== undefined && { outputTokens }),
    }
  }
  return usage
}

const memberOf = (node: JsonNode | undefined, name: string): JsonNode | undefined =>
  node?.type === 'object' ? node.members.get(name) : undefined

function first(node: JsonNode | undefined, names: readonly string[]): JsonNode | undefined {
  for (const name of names) {
    const found = memberOf(node, name)
    if (found !== undefined) return found
  }
  return undefined
}

/** Characters of the longest number that is read. */
const MOST_DIGITS = 20

function numberIn(node: JsonNode | undefined, text: string): number | undefined {
  if (node?.type !== 'number' || node.end - node.start > MOST_DIGITS) return undefined
  const value = Number(text.slice(node.start, node.end))
  return Number.isSafeInteger(value) && value >= 0 ? value : undefined
}

/** Name of a model in the path of a Gemini request; undefined: the path has none. */
export const modelInPath = (path: string): string | undefined =>
  /\/models\/([\w.-]{1,128}):\w+(?:\?|$)/.exec(path)?.[1]

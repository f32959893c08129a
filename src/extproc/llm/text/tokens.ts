// Log probabilities and tokens, which repeat the texts beside them: shown where they differ from the texts, and emptied
// when one of the texts changes.

import { type JsonNode, span } from '../../../kit/json/json-node.js'
import type { Work } from '../../../kit/turns.js'
import { type At, below, type FoundText, type Source } from './found-text.js'
import { isPlainName } from './shapes.js'

/** Members with an object for each token, and in it as many alternatives as the client has asked for. */
export const LOG_PROBABILITIES: ReadonlySet<string> = new Set([
  'logprobs',
  'logprobsResult',
  'logprobs_result',
  'prompt_logprobs',
  // Member of llama.cpp's replies.
  'completion_probabilities',
])

/** Members that repeat the texts of their object, token by token. */
export const ECHOES: ReadonlySet<string> = new Set([...LOG_PROBABILITIES, 'token_ids', 'tokens'])

/** A member that repeats the texts beside it. */
export interface Echo {
  readonly name: string
  readonly node: JsonNode
}

/** Adds echoes to the texts of their object, which begin at first. What only the echoes say becomes a separate text. */
export function* addEchoes(
  out: FoundText[],
  first: number,
  echoes: readonly Echo[],
  at: At,
): Work<void> {
  const texts = out.slice(first).map(({ text }) => text)
  const spans = echoes.map(({ node }) => span(node))
  for (let index = first; index < out.length; index += 1) {
    if (at.json.pace.isDue()) yield
    const text = out[index]
    if (text !== undefined) out[index] = { ...text, echoes: [...(text.echoes ?? []), ...spans] }
  }
  const isSilent = texts.every((text) => text === '')
  for (const { name, node } of echoes) {
    const tokens: Tokens = { chosen: [], others: [] }
    yield* collect(node, '', tokens, at.json)
    const chosen = new Set(tokens.chosen)
    const joined = tokens.chosen.join('')
    const others = tokens.others.filter((token) => !chosen.has(token))
    const place = below(at, name)
    if (!texts.some((text) => text.startsWith(joined) || text.endsWith(joined)) && joined !== '')
      out.push(tokensOf(node, place, joined))
    if (isSilent && (joined !== '' || hasIds(name, node))) markAhead(out, first)
    if (others.length > 0)
      out.push(tokensOf(node, below(at, `${name}_others`), `${others.join('\n')}\n`))
  }
}

/** Marks a text whose echoes contain what the object's texts say in the next events. */
function markAhead(out: FoundText[], first: number): void {
  const text = out[first]
  if (text?.text === '') out[first] = { ...text, isAhead: true }
}

const hasIds = (name: string, node: JsonNode): boolean =>
  name === 'token_ids' && node.type === 'array' && node.items.length > 0

interface Tokens {
  /** In order, they make up the text. */
  readonly chosen: string[]
  /** Alternatives to those, and everything else in the echoes. */
  readonly others: string[]
}

function* collect(node: JsonNode, name: string, tokens: Tokens, json: Source): Work<void> {
  if (json.pace.isDue()) yield
  const { chosen, others } = tokens
  if (node.type === 'string') {
    if (node.value !== '')
      (name === 'token' || name === 'tokens' ? chosen : others).push(node.value)
  } else if (node.type === 'array') {
    for (const item of node.items) yield* collect(item, name, tokens, json)
  } else if (node.type === 'object') {
    // Alternatives may be names, with their probabilities as values.
    const isNamed = name.startsWith('top') && !node.members.has('token')
    for (const [inner, value] of node.members) {
      if ((isNamed && value.type === 'number') || !isPlainName(inner)) others.push(inner)
      yield* collect(
        value,
        inner,
        inner.startsWith('top') ? { chosen: others, others } : tokens,
        json,
      )
    }
  }
}

const tokensOf = (node: JsonNode, { channel = '', role }: At, text: string): FoundText => ({
  channel,
  kind: 'text',
  role,
  text,
  place: span(node),
  form: 'tokens',
})

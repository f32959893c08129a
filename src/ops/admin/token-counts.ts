// Counts the tokens of guarded LLM traffic. Models name themselves, so the number and length of their labels are
// bounded.

import { Counter, type Registry } from 'prom-client'

/** What a reply says about itself; absent: it does not say. */
export interface ReplyTokens {
  readonly model?: string | undefined
  readonly inputTokens?: number | undefined
  readonly outputTokens?: number | undefined
}

/** Name of the counter of tokens. */
export const TOKENS_METRIC = 'gatehouse_llm_tokens_total'
/** Maximum number of models of a route, in a process and in all processes together. */
export const MAX_MODELS = 100
const MAX_MODEL_LENGTH = 100
/** Limit for one reply, far above what a model can use: a false count must not use up the counter's precision. */
const MAX_TOKENS = 100_000_000

const TYPES = ['input', 'output'] as const
const UNKNOWN = 'unknown'
/** The label of all models beyond that number. */
export const OTHER_MODELS = 'other'

/** Counter of the tokens of guarded LLM traffic. */
export class TokenCounts {
  readonly #counter: Counter<'route' | 'model' | 'type'>
  /** Models that have series, by route. */
  readonly #models = new Map<string, Set<string>>()

  readonly #onOther: () => void

  /** onOther: called when a model is counted as "other". */
  constructor(registers: Registry[], onOther: () => void) {
    this.#onOther = onOther
    this.#counter = new Counter({
      name: TOKENS_METRIC,
      help: 'Tokens that guarded LLM replies say were used.',
      labelNames: ['route', 'model', 'type'] as const,
      registers,
    })
  }

  /** route: NAMESPACE/NAME of the HTTPRoute. */
  add(route: string, { model, inputTokens, outputTokens }: ReplyTokens): void {
    if (inputTokens === undefined && outputTokens === undefined) return
    const label = this.#labelOf(route, model)
    this.#inc(route, label, 'input', inputTokens)
    this.#inc(route, label, 'output', outputTokens)
  }

  /** Removes the series of a route. */
  forget(route: string): void {
    for (const model of [...(this.#models.get(route) ?? []), OTHER_MODELS])
      for (const type of TYPES) this.#counter.remove({ route, model, type })
    this.#models.delete(route)
  }

  #inc(
    route: string,
    model: string,
    type: (typeof TYPES)[number],
    tokens: number | undefined,
  ): void {
    const counted = countOf(tokens)
    if (counted !== undefined) this.#counter.inc({ route, model, type }, counted)
  }

  #labelOf(route: string, model: string | undefined): string {
    const label = printable(model ?? '') || UNKNOWN
    const known = this.#models.get(route) ?? new Set()
    this.#models.set(route, known)
    if (known.size < MAX_MODELS) known.add(label)
    if (known.has(label)) return label
    this.#onOther()
    return OTHER_MODELS
  }
}

const countOf = (tokens: number | undefined): number | undefined =>
  tokens !== undefined && Number.isSafeInteger(tokens) && tokens >= 0
    ? Math.min(tokens, MAX_TOKENS)
    : undefined

/** Replaces control characters, which could break a line, and lone surrogates, which UTF-8 cannot tell apart. */
const printable = (model: string): string =>
  model.slice(0, MAX_MODEL_LENGTH).replaceAll(/[\p{Cc}\p{Cs}]/gu, '\ufffd')

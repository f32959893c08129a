// Counts the tokens that guarded replies say were used.

import type { Usage } from '../../llm/text/usage.js'
import type { GuardDeps } from './ask-webhooks.js'

type CountingDeps = Pick<GuardDeps, 'metrics' | 'mode'>

/** Counts nothing in mode Audit: the same reply may be guarded as well. */
export function countTokens(
  { metrics, mode }: CountingDeps,
  route: string,
  usage: Usage | undefined,
): void {
  if (mode === undefined && usage !== undefined) metrics.tokens?.(route, usage)
}

/** The tokens of a streamed reply. Its events repeat or raise earlier counts, so the highest of each is the reply's. */
export class StreamTokens {
  #usage: Usage | undefined
  #isCounted = false

  constructor(
    private readonly deps: CountingDeps,
    private readonly route: string,
  ) {}

  note(usage: Usage): void {
    const { inputTokens, outputTokens } = this.#usage ?? {}
    this.#usage = {
      ...this.#usage,
      ...usage,
      ...higher('inputTokens', inputTokens, usage.inputTokens),
      ...higher('outputTokens', outputTokens, usage.outputTokens),
    }
  }

  /** Counts the tokens at the reply's end; later calls do nothing. */
  end(): void {
    if (!this.#isCounted) countTokens(this.deps, this.route, this.#usage)
    this.#isCounted = true
  }
}

const higher = (name: keyof Usage, a: number | undefined, b: number | undefined): Usage =>
  a === undefined && b === undefined ? {} : { [name]: Math.max(a ?? 0, b ?? 0) }

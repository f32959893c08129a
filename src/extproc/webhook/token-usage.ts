// Counts the tokens that guarded replies say were used.

import type { Usage } from '../llm/text/usage.js'
import type { Guard } from './compiled-guard.js'
import type { GuardDeps } from './guard-deps.js'

type CountingDeps = Pick<GuardDeps, 'metrics' | 'mode' | 'isServed'>
type CountedGuard = Pick<Guard, 'key' | 'route'>

/**
 * Counts nothing in mode Audit, as the same reply may be guarded as well, nor for a route that is gone, as its metrics are
 * too.
 */
export function countTokens(
  { metrics, mode, isServed }: CountingDeps,
  { key, route }: CountedGuard,
  usage: Usage | undefined,
): void {
  if (mode !== undefined || usage === undefined || isServed?.(key) === false) return
  metrics.tokens?.(route, usage)
}

/** The tokens of a streamed reply. Its events repeat or raise earlier counts, so the highest of each is the reply's. */
export class StreamTokens {
  #usage: Usage | undefined
  #isCounted = false

  constructor(
    private readonly deps: CountingDeps,
    private readonly guard: CountedGuard,
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
    if (!this.#isCounted) countTokens(this.deps, this.guard, this.#usage)
    this.#isCounted = true
  }
}

const higher = (name: keyof Usage, a: number | undefined, b: number | undefined): Usage =>
  a === undefined && b === undefined ? {} : { [name]: Math.max(a ?? 0, b ?? 0) }

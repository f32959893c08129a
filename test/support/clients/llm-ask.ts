// A question to an LLM, and where what is heard of the answer goes.

export interface Ask {
  /** Origin and the route's path. */
  readonly url: string
  readonly prompt: string
  readonly stream: boolean
  readonly headers?: Record<string, string>
}

/** Gathers what an answer, or each event of one, holds. */
export interface Ears {
  event(event: unknown): void
  text(text: string): void
  /** A tool call, or a part of one; the parts come under one key. */
  call(key: string | number, name: string, args: string): void
}

// A question to an LLM, and the sink for its answer.

export interface Ask {
  /** The gateway's origin and the route's path. */
  readonly url: string
  readonly prompt: string
  readonly stream: boolean
  readonly headers?: Record<string, string>
}

/** Collects the contents of an answer or of its events. */
export interface Ears {
  event(event: unknown): void
  text(text: string): void
  /** A tool call or a part of one; parts of the same call share a key. */
  call(key: string | number, name: string, args: string): void
}

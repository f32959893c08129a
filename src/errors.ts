// The base of our own errors, and what a log line or a sentence says of an error that anything may have thrown.

/** An error of ours. */
export abstract class GatehouseError extends Error {
  /** What went wrong, for programs: it stays when the message is worded anew. */
  abstract readonly code: string
}

/** The message of an Error; anything else as a text. */
export const errorText = (error: unknown): string =>
  error instanceof Error ? error.message : String(error)

/** The name of an Error, or the type of anything else: for logs, where a message could carry what a request carried. */
export const errorKind = (error: unknown): string =>
  error instanceof Error ? error.name : typeof error

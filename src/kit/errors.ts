// Base class of Gatehouse's errors, and descriptions of anything thrown, for logs and messages.

/** An error that Gatehouse throws. */
export abstract class GatehouseError extends Error {
  /** Identifies the error for programs; unlike the message it is stable. */
  abstract readonly code: string
}

/** Returns the message of an Error, or any other value as text. */
export const errorText = (error: unknown): string =>
  error instanceof Error ? error.message : String(error)

/** Returns the name of an Error or the type of any other value, for logs: a message could quote a request. */
export const errorKind = (error: unknown): string =>
  error instanceof Error ? error.name : typeof error

// What our own checks of an expression throw inside src/cel; it never leaves it.

export class ExpressionError extends Error {
  constructor(
    message: string,
    /** Offsets in the expression. */
    readonly start: number,
    readonly end: number,
  ) {
    super(message)
  }
}

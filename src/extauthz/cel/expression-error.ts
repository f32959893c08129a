// The error that Gatehouse's own checks of an expression throw; it never leaves src/extauthz/cel.

import { GatehouseError } from '../../kit/errors.js'

/** Why an expression is not accepted. */
export class ExpressionError extends GatehouseError {
  readonly code = 'invalid_expression'

  constructor(
    message: string,
    /** Offsets in the expression. */
    readonly start: number,
    readonly end: number,
  ) {
    super(message)
  }
}

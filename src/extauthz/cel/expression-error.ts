// The errors of Gatehouse's own checks and evaluation of an expression. They never leave src/extauthz/cel.

import { EvaluationError } from '@marcbachmann/cel-js'
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

/** Returns an error of an evaluation. It has no message of its own, which could contain values of the request. */
export const evaluationError = (code: string): EvaluationError =>
  new EvaluationError({ code, message: code } as unknown as string)

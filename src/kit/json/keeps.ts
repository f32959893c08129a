// What is kept of a JSON text that is read, and why reading stops.

import { GatehouseError } from '../errors.js'
import type { JsonProblem } from './json-node.js'

/** Maximum depth of nesting, which CEL can read too. */
export const MOST_LEVELS = 100
/** Maximum characters of a member's name as written: whoever compares or folds names does so at once. */
export const MAX_NAME = 64 * 1024
/** Maximum number of values kept of one text, because later walks over them do not pause. */
export const MAX_VALUES = 50_000
/** Scalars kept of a list that holds nothing else: vectors and lists of tokens have hundreds of thousands. */
export const KEPT_SCALARS = 1

/** What of a text is kept. */
export interface Keeps {
  /** The number of values that may be kept. */
  readonly maxValues?: number
  /** Members in whose lists objects are not kept, and are read again by whoever looks at them: they are not counted. */
  readonly outlined?: ReadonlySet<string>
}

/** Shortest object that is not kept, in characters: what stands for a shorter one, such as {}, would take more room than it. */
export const LEAST_OUTLINED = 24
/** Longest object that is not kept, in characters: it is read again at once. */
export const MOST_OUTLINED = 16 * 1024

/** Why reading has stopped. */
export class Malformed extends GatehouseError {
  readonly code = 'malformed_json'

  constructor(readonly problem: JsonProblem) {
    super(problem)
  }
}

// The error for a body that cannot be read in full.

import { GatehouseError } from '../errors.js'

/** A body with more than Gatehouse can read, or with nothing it knows. The message contains none of its text. */
export class UnreadableForm extends GatehouseError {
  readonly code = 'unreadable_form'
}

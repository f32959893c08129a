// What is thrown for a body that cannot be read in full.

import { GatehouseError } from '../errors.js'

/** A body that says more than we can read, or nothing we know. The message names no text of it. */
export class UnreadableForm extends GatehouseError {
  readonly code = 'unreadable_form'
}

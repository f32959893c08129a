// Thrown when no usable Envoy is found. The message is a sentence for a person, with the remedy.

import { GatehouseError } from '../../kit/errors.js'

/** The error for a machine without a usable Envoy. */
export class EnvoyNotFound extends GatehouseError {
  readonly code = 'envoy_not_found'

  override readonly name = 'EnvoyNotFound'
}

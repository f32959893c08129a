// Thrown when no usable Envoy is found. The message is a sentence for a person, with the remedy.

import { GatehouseError } from '../errors.js'

export class EnvoyNotFound extends GatehouseError {
  readonly code = 'envoy_not_found'

  override readonly name = 'EnvoyNotFound'
}

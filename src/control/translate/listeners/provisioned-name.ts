// Names the objects that Gatehouse creates for a Gateway.

import { hash } from 'node:crypto'
import type { GatewayResource } from './listeners.js'

/** Maximum length of the name of a Service and of a label's value. */
const LONGEST = 63
const HASH_LENGTH = 10
const PLAIN = /^[a-z][a-z0-9-]*$/

/**
 * Returns the name of the objects for a Gateway: GATEWAY-CLASS, as the Gateway API recommends. Where that is no name of a
 * Service, or could also be that of another Gateway and class, it is shortened and ends with a hash.
 */
export function provisionedName({ metadata, spec }: GatewayResource): string {
  const { name } = metadata
  const { gatewayClassName } = spec
  const plain = `${name}-${gatewayClassName}`
  const isUnique = !gatewayClassName.includes('-')
  if (isUnique && plain.length <= LONGEST && PLAIN.test(plain)) return plain
  const digest = hash('sha256', `${name}/${gatewayClassName}`).slice(0, HASH_LENGTH)
  const beginning = plain.replaceAll('.', '-').replace(/^(?=[0-9])/, 'g')
  return `${beginning.slice(0, LONGEST - HASH_LENGTH - 1)}-${digest}`
}

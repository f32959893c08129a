// Bounds the endpoints that Envoy gets. Each takes 1.5 KB there, once for each port of a Service that routes name: an
// EndpointSlice of 0.2 MB with 256 ports would make 5 GB of them, and end the Envoy of all namespaces.

import type { Destination } from '../../../model/destination.js'
import { serviceOfDestination } from '../../../model/names.js'
import type { Resource } from '../../schema/kinds/resources.js'
import type { ServiceSpec } from '../../schema/kinds/service.js'
import type { Context } from '../world/context.js'
import { withoutRoom } from '../world/room.js'
import { keyOf } from '../world/world.js'
import { addressesOfService } from './service-addresses.js'

type Service = Resource<ServiceSpec>

/** Endpoints of a Service, with all of its ports together. */
const MOST_OF_SERVICE = 32_768
/** Endpoints of the Services of a namespace that are not small, counted for the ports that routes name. */
const MOST_IN_NAMESPACE = 98_304
/** Services with so few endpoints always have room, so that a change among thousands of Services concerns few. */
const SMALL = 512

/** Returns how many endpoints each port of a Service may have. */
export const mostEndpoints = ({ reader }: Context, service: Service, listed: number): number =>
  isSmall(service, listed) || reader.read('servicesBeyond', keyOf(service)) === undefined
    ? shareOf(service, MOST_OF_SERVICE)
    : shareOf(service, SMALL)

/** Returns the note about addresses that are not in use. */
export const beyondNote = (service: Service, used: number, listed: number): string =>
  `Service ${keyOf(service)}: ${String(used)} of ${String(listed)} addresses are in use; a Service may have ${String(MOST_OF_SERVICE)} endpoints with all of its ports, and the Services of a namespace ${String(MOST_IN_NAMESPACE)}, of which older ones have precedence`

const shareOf = (service: Service, most: number): number =>
  Math.max(1, Math.floor(most / portsOf(service)))

const portsOf = ({ spec }: Service): number =>
  Math.max(1, spec.ports.filter(({ protocol }) => protocol === 'TCP').length)

const isSmall = (service: Service, listed: number): boolean => listed * portsOf(service) <= SMALL

/** Returns the names of the destinations whose Services are not small. */
export const crowdedOf = (
  context: Context,
  destinations: readonly Destination[],
): readonly string[] =>
  destinations
    .map(({ name }) => name)
    .filter((name) => {
      const found = serviceNamed(context, name)
      return found !== undefined && !isSmall(found.service, found.listed)
    })

interface Listed {
  readonly service: Service
  readonly listed: number
}

function serviceNamed(context: Context, destination: string): Listed | undefined {
  const key = serviceOfDestination(destination)
  const service = key === undefined ? undefined : context.reader.read('services', key)
  return (
    service && { service, listed: addressesOfService(context, keyOf(service))?.listed.length ?? 0 }
  )
}

/** Returns the Services without room, by keyOf(). names: of destinations whose Services are not small. */
export function findServicesBeyond(
  context: Context,
  names: readonly string[],
): ReadonlyMap<string, true> {
  const endpoints = new Map<Service, number>()
  for (const name of new Set(names)) {
    const { service, listed } = serviceNamed(context, name) ?? {}
    if (service === undefined || listed === undefined) continue
    const own = Math.min(listed, shareOf(service, MOST_OF_SERVICE))
    endpoints.set(service, (endpoints.get(service) ?? 0) + own)
  }
  return withoutRoom(endpoints, MOST_IN_NAMESPACE)
}

// Finds the endpoints of a Service's port: ready addresses of its EndpointSlices, else externalName, else its DNS name.

import { isIP } from 'node:net'
import type { Address, Endpoints } from '../../../model/destination.js'
import type { EndpointSliceData } from '../../schema/kinds/endpoint-slice.js'
import type { Resource } from '../../schema/kinds/resources.js'
import type { ServiceSpec } from '../../schema/kinds/service.js'
import type { Context } from '../world/context.js'
import { mostEndpoints } from './endpoint-room.js'
import type { ListedAddress, ServiceAddresses } from './service-addresses.js'

type ServicePort = ServiceSpec['ports'][number]

/** Returns the endpoints of a host name or IP address. */
export const endpointsOfHost = (host: string, port: number): Endpoints =>
  isIP(host) === 0
    ? { type: 'name', host, port }
    : { type: 'addresses', addresses: [{ ip: host, port }] }

/** A port of a Service that a backendRef names. */
export interface NamedPort {
  readonly port: number
  /** Absent for a Service that lists no ports. */
  readonly servicePort: ServicePort | undefined
}

/** known: the addresses of its EndpointSlices; absent: it has none. */
export function endpointsOfService(
  context: Context,
  service: Resource<ServiceSpec>,
  named: NamedPort,
  known: ServiceAddresses | undefined,
): Endpoints {
  const { port } = named
  if (known !== undefined) {
    const most = mostEndpoints(context, service, known.listed.length)
    return { type: 'addresses', addresses: addressesAt(known.listed, named, most) }
  }
  if (service.spec.externalName !== undefined)
    return endpointsOfHost(service.spec.externalName, port)
  const { namespace, name } = service.metadata
  return { type: 'name', host: `${name}.${namespace}.svc.${context.options.clusterDomain}`, port }
}

/** Returns the addresses with their ports, sorted and without duplicates; no more than the given number. */
function addressesAt(
  listed: readonly ListedAddress[],
  named: NamedPort,
  most: number,
): readonly Address[] {
  const numbers = new Map<EndpointSliceData, number | undefined>()
  const numberIn = (slice: EndpointSliceData): number | undefined => {
    if (!numbers.has(slice)) numbers.set(slice, slicePortOf(slice, named))
    return numbers.get(slice)
  }
  const addresses: Address[] = []
  for (let at = 0; at < listed.length && addresses.length < most;) {
    const { ip } = listed[at] as ListedAddress
    const ports = new Set<number>()
    for (; listed[at]?.ip === ip; at += 1) {
      const port = numberIn((listed[at] as ListedAddress).slice)
      if (port !== undefined) ports.add(port)
    }
    for (const port of [...ports].sort((a, b) => a - b)) addresses.push({ ip, port })
  }
  return addresses.length > most ? addresses.slice(0, most) : addresses
}

/** Returns the number that pods listen on, by an EndpointSlice; undefined if it does not have the port. */
function slicePortOf(
  slice: EndpointSliceData,
  { port, servicePort }: NamedPort,
): number | undefined {
  const slicePort = slice.ports.find(
    ({ name, protocol }) => name === (servicePort?.name ?? '') && protocol === 'TCP',
  )
  if (slicePort === undefined) return undefined
  const target = servicePort?.targetPort
  return slicePort.port ?? (typeof target === 'number' ? target : port)
}

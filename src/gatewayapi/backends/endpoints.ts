// Finds the endpoints of a Service's port: ready addresses of its EndpointSlices, else externalName, else its DNS name.

import { isIP } from 'node:net'
import { isPlainAddress } from '../../addresses/host.js'
import { compareText } from '../../incremental/sorted-list.js'
import type { Address, Endpoints } from '../../ir/destination.js'
import type { EndpointSliceData } from '../../resources/kinds/endpoint-slice.js'
import type { Resource } from '../../resources/kinds/resources.js'
import type { ServiceSpec } from '../../resources/kinds/service.js'
import type { Context } from '../world/context.js'
import { keyOf } from '../world/world.js'

type ServicePort = ServiceSpec['ports'][number]

/** Returns the endpoints of a host name or IP address. */
export const endpointsOfHost = (host: string, port: number): Endpoints =>
  isIP(host) === 0
    ? { type: 'name', host, port }
    : { type: 'addresses', addresses: [{ ip: host, port }] }

/** servicePort: absent for a Service that lists no ports. */
export function endpointsOfService(
  context: Context,
  service: Resource<ServiceSpec>,
  port: number,
  servicePort: ServicePort | undefined,
): Endpoints {
  const slices = context.reader.read('endpointSlices', keyOf(service)) ?? []
  if (slices.length > 0)
    return { type: 'addresses', addresses: readyAddresses(slices, port, servicePort) }
  if (service.spec.externalName !== undefined)
    return endpointsOfHost(service.spec.externalName, port)
  const { namespace, name } = service.metadata
  return { type: 'name', host: `${name}.${namespace}.svc.${context.options.clusterDomain}`, port }
}

function readyAddresses(
  slices: readonly Resource<EndpointSliceData>[],
  port: number,
  servicePort: ServicePort | undefined,
): readonly Address[] {
  const addresses = slices
    .filter(({ spec }) => spec.addressType !== 'FQDN')
    .flatMap(({ spec }) => sliceAddresses(spec, port, servicePort))
  const unique = new Map(addresses.map((address) => [`${address.ip} ${address.port}`, address]))
  return [...unique.values()].sort((a, b) => compareText(a.ip, b.ip) || a.port - b.port)
}

function sliceAddresses(
  slice: EndpointSliceData,
  port: number,
  servicePort: ServicePort | undefined,
): readonly Address[] {
  const slicePort = slice.ports.find(
    ({ name, protocol }) => name === (servicePort?.name ?? '') && protocol === 'TCP',
  )
  if (slicePort === undefined) return []
  const target = servicePort?.targetPort
  const number = slicePort.port ?? (typeof target === 'number' ? target : port)
  return slice.endpoints
    .filter(({ conditions }) => conditions.ready)
    .flatMap((endpoint) => endpoint.addresses.filter(isPlainAddress))
    .map((ip) => ({ ip, port: number }))
}

// Determines the addresses of a Gateway: those of its Envoys' Services, from which spec.addresses can select some.

import { isIP } from 'node:net'
import { isPlainAddress } from '../../../kit/addresses/host.js'
import { isHostname } from '../../../model/hostnames.js'
import { asSentence, type Condition, type GatewayAddress, nameFor } from '../../../model/status.js'
import type { Resource } from '../../schema/kinds/resources.js'
import type { ServiceSpec } from '../../schema/kinds/service.js'
import { isFalse } from '../world/conditions.js'
import type { Context } from '../world/context.js'
import { classServicesKey } from '../world/grouping.js'
import { keyIn, keyOf } from '../world/world.js'
import type { GatewayResource } from './listeners.js'
import { envoyServiceOf, parametersOfClass, parametersOfGateway } from './parameters.js'
import { provisionedName } from './provisioned-name.js'

/** The addresses of a Gateway, and conditions about them. */
export interface GatewayAddresses {
  /** Absent: the addresses of the Envoys are unknown, and another writer may set them in the status. */
  readonly addresses?: readonly GatewayAddress[]
  /** Replaces Accepted=True: an address in the spec has a type that Gatehouse does not support. */
  readonly unsupported?: Condition
  /** Replaces Programmed=True: an address in the spec is not one of the Envoys. */
  readonly unusable?: Condition
  /** Sentences about Services without an address. */
  readonly notes: readonly string[]
}

/** Maximum number of addresses in a status (Gateway API). */
const MOST = 16
const TYPES: readonly string[] = ['IPAddress', 'Hostname']

/** Determines the addresses of a Gateway. */
export function gatewayAddresses(context: Context, gateway: GatewayResource): GatewayAddresses {
  const { services, notes } = envoyServices(context, gateway)
  const known = unique(services.flatMap((service) => addressesOf(context, service)))
  const isKnown = services.length > 0
  const requested = gateway.spec.addresses
  if (requested.length === 0)
    return {
      notes: [...notes, ...pending(context, gateway, services)],
      ...(isKnown && limited(known)),
    }
  const index = requested.findIndex(({ type }) => !TYPES.includes(type))
  if (index >= 0)
    return {
      notes,
      unsupported: isFalse(
        'Accepted',
        'UnsupportedAddress',
        `spec.addresses[${index}]: type ${requested[index]?.type} is not supported; expected one of ${TYPES.join(', ')}. The listeners stay in force`,
      ),
    }
  return { notes, ...(isKnown ? ofRequest(requested, known) : declared(requested)) }
}

const limited = (addresses: readonly GatewayAddress[]): Pick<GatewayAddresses, 'addresses'> => ({
  addresses: addresses.slice(0, MOST),
})

type Requested = GatewayResource['spec']['addresses']

/** Returns the requested addresses that the Services have. An address without a value is any of its type. */
function ofRequest(
  requested: Requested,
  known: readonly GatewayAddress[],
): Omit<GatewayAddresses, 'notes'> {
  const matching = ({ type, value }: Requested[number]): readonly GatewayAddress[] =>
    known.filter((each) => each.type === type && (value === '' || each.value === value))
  const addresses = unique(requested.flatMap(matching))
  const index = requested.findIndex((each) => matching(each).length === 0)
  const missing = requested[index]
  if (missing === undefined) return limited(addresses)
  const all = known.map(({ value }) => value).join(', ')
  const has = all === '' ? 'these have no address' : `these have ${all}`
  const message =
    missing.value === ''
      ? `spec.addresses[${index}]: the Services of its Envoys have no address of type ${missing.type}; ${has}`
      : `spec.addresses[${index}]: ${missing.value} is not an address of the Services of its Envoys; ${has}`
  const reason = missing.value === '' ? 'AddressNotAssigned' : 'AddressNotUsable'
  return { ...limited(addresses), unusable: isFalse('Programmed', reason, message) }
}

/** Returns the requested addresses of a Gateway without a Service for its Envoys: its author knows the addresses. */
function declared(requested: Requested): Omit<GatewayAddresses, 'notes'> {
  const named = requested.filter(({ value }) => value !== '')
  const index = named.findIndex((address) => !isValid(address))
  const bad = named[index]
  if (bad !== undefined)
    return {
      unusable: isFalse(
        'Programmed',
        'AddressNotUsable',
        `spec.addresses: "${bad.value}" is not of type ${bad.type}`,
      ),
    }
  if (named.length > 0) return limited(unique(named))
  return {
    unusable: isFalse(
      'Programmed',
      'AddressNotAssigned',
      'spec.addresses names no value, and no Service is known to lead to its Envoys',
    ),
  }
}

const isValid = ({ type, value }: GatewayAddress): boolean =>
  type === 'IPAddress' ? isPlainAddress(value) : isHostname(value)

interface EnvoyServices {
  readonly services: readonly Resource<ServiceSpec>[]
  readonly notes: readonly string[]
}

/** Returns the Services by hand, else the one that Gatehouse creates. */
function envoyServices(context: Context, gateway: GatewayResource): EnvoyServices {
  const byHand = servicesByHand(context, gateway)
  if (context.options.provisions !== true || isKnown(byHand)) return byHand
  const key = keyIn(gateway.metadata.namespace, provisionedName(gateway))
  const service = context.reader.read('services', key)
  return { services: service === undefined ? [] : [service], notes: [] }
}

/** Whether a Service was named for the Envoys, even if it does not exist. */
const isKnown = ({ services, notes }: EnvoyServices): boolean => services.length + notes.length > 0

/** Whether others run the Envoys of the Gateway. */
export const hasEnvoysByHand = (context: Context, gateway: GatewayResource): boolean =>
  isKnown(servicesByHand(context, gateway))

/**
 * Returns the Services from the first source that names any: the Gateway's ProxyParameters, labels with the Gateway's
 * name, labels with its class, the ProxyParameters of the class. The one that Gatehouse creates is not among them.
 */
function servicesByHand(context: Context, gateway: GatewayResource): EnvoyServices {
  const { namespace, name } = gateway.metadata
  const ofGateway = envoyServiceOf(context, parametersOfGateway(gateway))
  if (ofGateway !== undefined) return named(context, gateway, ofGateway)
  const { reader } = context
  const labelled = (key: string, trusted: readonly (string | undefined)[]) =>
    (reader.read('envoyServices', key) ?? []).filter(
      (service) =>
        isTrusted(context, service, trusted) && !isProvisioned(context, gateway, service),
    )
  const own = labelled(keyIn(namespace, name), [namespace, ownNamespace(context)])
  if (own.length > 0) return { services: own, notes: [] }
  const { gatewayClassName } = gateway.spec
  const ofAll = labelled(classServicesKey(gatewayClassName), [ownNamespace(context)])
  if (ofAll.length > 0) return { services: ofAll, notes: [] }
  const ofClass = envoyServiceOf(context, parametersOfClass(context, gateway))
  return ofClass === undefined ? { services: [], notes: [] } : named(context, gateway, ofClass)
}

const isProvisioned = (
  { options }: Context,
  gateway: GatewayResource,
  { metadata }: Resource<ServiceSpec>,
): boolean =>
  options.provisions === true &&
  metadata.namespace === gateway.metadata.namespace &&
  metadata.name === provisionedName(gateway)

function named(context: Context, gateway: GatewayResource, key: string): EnvoyServices {
  const service = context.reader.read('services', key)
  return service === undefined
    ? { services: [], notes: [`${nameOf(gateway, key)} of its Envoys not found`] }
    : { services: [service], notes: [] }
}

const ownNamespace = ({ options }: Context): string | undefined =>
  options.tenancy?.ownService.namespace

/** In a cluster, a tenant's label on a Service counts only for the tenant's own Gateways. */
const isTrusted = (
  { options }: Context,
  { metadata }: Resource<ServiceSpec>,
  namespaces: readonly (string | undefined)[],
): boolean => options.tenancy === undefined || namespaces.includes(metadata.namespace)

/** Names a Service for the namespace of the Gateway. */
const nameOf = ({ metadata }: GatewayResource, key: string): string =>
  asSentence(nameFor(metadata.namespace, 'Service', key))

const pending = (
  context: Context,
  gateway: GatewayResource,
  services: readonly Resource<ServiceSpec>[],
): readonly string[] =>
  services
    .filter((service) => addressesOf(context, service).length === 0)
    .map((service) => `${nameOf(gateway, keyOf(service))} of its Envoys has no address yet`)

/**
 * Returns the addresses of a Service with the widest reach: those of its load balancer, else its cluster IP, else those
 * of its ready pods.
 */
function addressesOf(context: Context, service: Resource<ServiceSpec>): readonly GatewayAddress[] {
  const { type, clusterIP = '', externalIPs, ingress } = service.spec
  const outside = [...ingress.flatMap(({ ip, hostname }) => ip ?? hostname ?? []), ...externalIPs]
  if (outside.length > 0 || type === 'LoadBalancer') return outside.flatMap(addressOf)
  if (isIP(clusterIP) !== 0) return addressOf(clusterIP)
  const slices = context.reader.read('endpointSlices', keyOf(service)) ?? []
  return slices
    .flatMap(({ spec }) => spec.endpoints)
    .filter(({ conditions }) => conditions.ready)
    .flatMap(({ addresses }) => addresses)
    .sort()
    .flatMap(addressOf)
}

function addressOf(value: string): readonly GatewayAddress[] {
  if (isPlainAddress(value)) return [{ type: 'IPAddress', value }]
  return isHostname(value) ? [{ type: 'Hostname', value }] : []
}

const unique = (addresses: readonly GatewayAddress[]): readonly GatewayAddress[] => [
  ...new Map(
    addresses.map(({ type, value }) => [`${type} ${value}`, { type, value }] as const),
  ).values(),
]

// Resolves a backendRef to its Destination, or the reason why it cannot be used (decisions 26 and 31).

import { isIP } from 'node:net'
import { isPlainAddress } from '../../../kit/addresses/host.js'
import { err, ok, type Result } from '../../../kit/result.js'
import type { Destination, Endpoints } from '../../../model/destination.js'
import { isHostname } from '../../../model/hostnames.js'
import { backendDestination, serviceDestination } from '../../../model/names.js'
import type { Resource } from '../../schema/kinds/resources.js'
import type { ServiceSpec } from '../../schema/kinds/service.js'
import { type Context, query } from '../world/context.js'
import { backendKinds, kindMeant } from '../world/known-kinds.js'
import { isReferencePermitted, missingGrant, type Referrer } from '../world/reference-grants.js'
import { keyIn, targetKey } from '../world/world.js'
import { tlsTowards } from './backend-tls.js'
import { checkEndpoints, type EndpointsProblem } from './checked-endpoints.js'
import { beyondNote, mostEndpoints } from './endpoint-room.js'
import { endpointsOfHost, endpointsOfService } from './endpoints.js'
import { addressesOfService, type ServiceAddresses } from './service-addresses.js'

/** A reference to a Service or ProxyBackend. */
export interface BackendRef {
  readonly group: string
  readonly kind: string
  readonly name: string
  readonly namespace?: string | undefined
  readonly port?: number | undefined
}

/** A resolved backend. */
export interface Backend {
  /** targetKey() of the Service or ProxyBackend. */
  readonly target: string
  /** Where Envoy sends traffic; has no endpoints while there is a problem. */
  readonly destination: Destination
  /** Where Gatehouse's own calls connect: they resolve names and check addresses themselves. */
  readonly endpoints: Endpoints
  readonly problem?: {
    readonly reason: EndpointsProblem['reason'] | 'InvalidBackendTls'
    readonly message: string
  }
  /** Status message if some endpoints are not in use. */
  readonly note?: string
  /** Host header towards the backend (decision 31); absent: the client's. */
  readonly host?: string
  /** Host and port in the URLs of Gatehouse's own calls. */
  readonly authority: string
}

/** Why a backend cannot be used. */
export interface BackendProblem {
  /** targetKey() of the referenced resource, whether it exists or not. */
  readonly target: string
  /** Reason of the condition ResolvedRefs. */
  readonly reason:
    | 'BackendNotFound'
    | 'RefNotPermitted'
    | 'InvalidKind'
    | 'InvalidBackendTls'
    | EndpointsProblem['reason']
  readonly message: string
}

type Lookup = Result<Backend, Omit<BackendProblem, 'target'>>

/** Resolves a reference. */
export function resolveBackend(
  context: Context,
  from: Referrer,
  ref: BackendRef,
): Result<Backend, BackendProblem> {
  const target = targetKey(ref.group, ref.kind, ref.namespace ?? from.namespace, ref.name)
  const found = lookUp(context, from, ref)
  return found.ok ? found : err({ ...ownWords(from, ref, found.error), target })
}

/** Leaves out what a policy of another namespace says. */
function ownWords(
  from: Referrer,
  { kind, namespace = from.namespace, name }: BackendRef,
  { reason, message }: Omit<BackendProblem, 'target'>,
): Omit<BackendProblem, 'target'> {
  const isOthers = reason === 'InvalidBackendTls' && namespace !== from.namespace
  return {
    reason,
    message: isOthers
      ? `${kind} ${keyIn(namespace, name)} cannot be used: its BackendTLSPolicy is not valid`
      : message,
  }
}

function lookUp(context: Context, from: Referrer, ref: BackendRef): Lookup {
  const namespace = ref.namespace ?? from.namespace
  const to = { group: ref.group, kind: ref.kind, namespace, name: ref.name }
  const find = finderOf(context, ref)
  if (find === undefined) return err({ reason: 'InvalidKind', message: unknownKind(context, ref) })
  if (!isReferencePermitted(context, from, to))
    return err({ reason: 'RefNotPermitted', message: missingGrant(from, to) })
  const key = `${targetKey(ref.group, ref.kind, namespace, ref.name)} ${ref.port ?? ''}`
  return query(context, 'destination', key, (own) => find(own, namespace, ref))
}

type Find = (context: Context, namespace: string, ref: BackendRef) => Lookup

function finderOf({ options }: Context, { group, kind }: BackendRef): Find | undefined {
  if (group === '' && kind === 'Service') return findService
  if (group === options.apiGroup && kind === 'ProxyBackend') return findProxyBackend
  return undefined
}

const unknownKind = ({ options: { apiGroup } }: Context, ref: BackendRef): string =>
  `backendRef kind ${ref.kind} of group "${ref.group}" is not known; expected Service of the core group or ProxyBackend of ${apiGroup}${kindMeant(ref, backendKinds(apiGroup))}`

const notFound = (message: string) => err({ reason: 'BackendNotFound', message } as const)

function findService(context: Context, namespace: string, ref: BackendRef): Lookup {
  const key = keyIn(namespace, ref.name)
  const service = context.reader.read('services', key)
  if (service === undefined) return notFound(`Service ${key} not found`)
  if (ref.port === undefined) return notFound(`backendRef to Service ${key} needs a port`)
  const { ports, externalName } = service.spec
  // A Service may have the same port number for UDP, e.g. for HTTP/3.
  const servicePort = ports.find(({ port, protocol }) => port === ref.port && protocol === 'TCP')
  if (servicePort === undefined && !(ports.length === 0 && externalName !== undefined))
    return notFound(`port ${ref.port} not found in Service ${key}`)
  if (externalName !== undefined && !isPlainAddress(externalName) && !isHostname(externalName))
    return notFound(`externalName "${externalName}" of Service ${key} is not a host name`)
  const target = targetKey('', 'Service', namespace, ref.name)
  const tls = tlsTowards(context, target, servicePort?.name ?? '')
  if (!tls.ok) return brokenTls(`Service ${key}`, tls.error)
  const known = addressesOfService(context, key)
  const endpoints = endpointsOfService(context, service, { port: ref.port, servicePort }, known)
  const forEnvoy = envoyEndpoints(context, service, endpoints)
  const checked = checkEndpoints(context, `Service ${key}`, forEnvoy, known)
  const destination: Destination = {
    name: serviceDestination(namespace, ref.name, ref.port),
    endpoints: checked.endpoints,
    protocol: servicePort?.appProtocol === 'kubernetes.io/h2c' ? 'http2' : 'http1',
    ...(tls.value === undefined ? {} : { tls: tls.value }),
  }
  const dnsName = externalName ?? `${ref.name}.${namespace}.svc.${context.options.clusterDomain}`
  const reached = backendOf(target, destination, { fallback: dnsName, port: ref.port })
  const notes = [checked.note, roomNote(context, service, endpoints, known)].flatMap(
    (note) => note ?? [],
  )
  const note = notes.length === 0 ? {} : { note: notes.join('\n') }
  return ok({ ...reached, ...checked, ...note, endpoints })
}

/** Reports that a Service has more addresses than there is room for. */
function roomNote(
  context: Context,
  service: Resource<ServiceSpec>,
  endpoints: Endpoints,
  known: ServiceAddresses | undefined,
): string | undefined {
  if (known === undefined || endpoints.type !== 'addresses') return undefined
  const [used, listed] = [endpoints.addresses.length, known.listed.length]
  return used < listed && used >= mostEndpoints(context, service, listed)
    ? beyondNote(service, used, listed)
    : undefined
}

/** Drops the DNS name in a cluster: the API server lists all endpoints, so a Service without slices has none. */
const envoyEndpoints = (
  { options }: Context,
  { spec }: Resource<ServiceSpec>,
  endpoints: Endpoints,
): Endpoints =>
  options.tenancy !== undefined && spec.externalName === undefined && endpoints.type === 'name'
    ? { type: 'addresses', addresses: [] }
    : endpoints

function findProxyBackend(context: Context, namespace: string, ref: BackendRef): Lookup {
  const key = keyIn(namespace, ref.name)
  const backend = context.reader.read('proxyBackends', key)
  if (backend === undefined) return notFound(`ProxyBackend ${key} not found`)
  const { host, port } = backend.spec.static
  if (ref.port !== undefined && ref.port !== port)
    return notFound(`backendRef port ${ref.port} is not port ${port} of ProxyBackend ${key}`)
  const target = targetKey(context.options.apiGroup, 'ProxyBackend', namespace, ref.name)
  const tls = tlsTowards(context, target, undefined)
  if (!tls.ok) return brokenTls(`ProxyBackend ${key}`, tls.error)
  const endpoints = endpointsOfHost(host, port)
  const checked = checkEndpoints(context, `ProxyBackend ${key}`, endpoints)
  const destination: Destination = {
    name: backendDestination(namespace, ref.name),
    endpoints: checked.endpoints,
    protocol: 'http1',
    ...(tls.value === undefined ? {} : { tls: tls.value }),
  }
  const name = tls.value?.hostname ?? (isIP(host) === 0 ? host : undefined)
  const named = name === undefined ? {} : { host: name }
  const reached = backendOf(target, destination, { ...named, fallback: host, port })
  return ok({ ...reached, ...checked, endpoints })
}

const brokenTls = (backend: string, why: string) =>
  err({ reason: 'InvalidBackendTls', message: `${backend} cannot be used: ${why}` } as const)

interface HostNames {
  /** Host towards the backend; absent: the client's. */
  readonly host?: string
  /** Host of Gatehouse's own calls, which have no client whose Host could be kept. */
  readonly fallback: string
  readonly port: number
}

function backendOf(
  target: string,
  destination: Destination,
  names: HostNames,
): Omit<Backend, 'endpoints'> {
  const { host, fallback, port } = names
  const { tls } = destination
  return {
    target,
    destination,
    ...(host === undefined ? {} : { host }),
    authority: authorityOf(tls?.hostname ?? fallback, port, tls !== undefined),
  }
}

function authorityOf(host: string, port: number, isTls: boolean): string {
  const bracketed = isIP(host) === 6 ? `[${host}]` : host
  return port === (isTls ? 443 : 80) ? bracketed : `${bracketed}:${port}`
}

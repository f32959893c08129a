// Translates Gateways into listeners, and builds the status of Gateways and GatewayClasses.

import { err, type Result } from '../../../kit/result.js'
import type { Certificate } from '../../../model/ir.js'
import type { ComputeResources, ProvisionedGateway } from '../../../model/provisioned-gateway.js'
import type { Condition, ResourceStatus } from '../../../model/status.js'
import type { FieldPath } from '../../schema/kinds/field-path.js'
import type { GatewayClassSpec } from '../../schema/kinds/gateway-class.js'
import type { Resource } from '../../schema/kinds/resources.js'
import { about, isFalse, isTrue, statusOf, unsupportedNote } from '../world/conditions.js'
import { type Context, query } from '../world/context.js'
import { keyIn, keyOf } from '../world/world.js'
import { type GatewayAddresses, gatewayAddresses, hasEnvoysByHand } from './addresses.js'
import { resolveCertificate } from './certificates.js'
import { allowsInsecure } from './client-validation.js'
import { translateListeners } from './listener-sets.js'
import { type GatewayResource, isOfSet, isRefusing, type TranslatedListener } from './listeners.js'
import {
  type EnvoyParameters,
  envoysOf,
  gatewayParametersProblem,
  parametersOfClass,
  parametersOfGateway,
  parametersProblem,
} from './parameters.js'
import { provisionedName } from './provisioned-name.js'

/** A translated Gateway. */
export interface TranslatedGateway {
  readonly key: string
  readonly gateway: GatewayResource
  /** Those of the Gateway, then those of its ListenerSets. */
  readonly listeners: readonly TranslatedListener[]
  /** Absent: Gatehouse does not create its Envoys. */
  readonly provisioned?: ProvisionedGateway
  /** What its Envoys present to backends with TLS; absent: nothing. */
  readonly clientCertificate?: ClientCertificate
  readonly status: ResourceStatus
}

/** Returns the controllerName of GatewayClasses that Gatehouse serves. */
export const controllerName = ({ options }: Context): string => `${options.apiGroup}/gatehouse`

/** undefined: not found. 'foreign': its GatewayClass belongs to another controller, or, with a mesh, to Gatehouse. */
export const translateGateway = (
  context: Context,
  key: string,
): TranslatedGateway | 'foreign' | undefined =>
  query(context, 'gateway', key, (own) => {
    const gateway = own.reader.read('gateways', key)
    if (gateway === undefined) return undefined
    const gatewayClass = own.reader.read('gatewayClasses', keyIn('', gateway.spec.gatewayClassName))
    if (isForeign(own, gatewayClass)) return 'foreign'
    const listeners = translateListeners(own, gateway)
    const clientCertificate = clientCertificateOf(own, gateway)
    const infrastructure = provisioned(own, gateway, listeners)
    return {
      key: keyOf(gateway),
      gateway,
      listeners,
      ...(clientCertificate === undefined ? {} : { clientCertificate }),
      ...(infrastructure === undefined ? {} : { provisioned: infrastructure }),
      status: gatewayStatus(own, gateway, listeners),
    }
  })

function isForeign(
  context: Context,
  gatewayClass: Resource<GatewayClassSpec> | undefined,
): boolean {
  const { mesh, isCluster } = context.options
  const isOfGatehouse = gatewayClass?.spec.controllerName === controllerName(context)
  if (mesh !== undefined) return isOfGatehouse
  // In files, a Gateway whose GatewayClass is missing is Gatehouse's too.
  const isUnclassed = gatewayClass === undefined && isCluster !== true
  return !isUnclassed && !isOfGatehouse
}

/** all: its listeners, with those of its ListenerSets. */
export function gatewayStatus(
  context: Context,
  gateway: GatewayResource,
  all: readonly TranslatedListener[],
): ResourceStatus {
  const listeners = all.filter(({ owner }) => !isOfSet(owner))
  const found = gatewayAddresses(context, gateway)
  const status = statusOf(gateway, [
    ...gatewayConditions(gateway, listeners, {
      ...found,
      ignored: unusedInfrastructure(context, gateway),
      unsupported: invalidParameters(context, gateway) ?? found.unsupported,
    }),
    ...clientCertificateCondition(clientCertificateOf(context, gateway), listeners),
    ...(allowsInsecure(gateway) ? [INSECURE] : []),
    ...listeners.flatMap(({ spec, conditions }) => about(conditions, { section: spec.name })),
  ])
  return {
    ...status,
    ...(found.addresses === undefined ? {} : { addresses: found.addresses }),
    ...(gateway.spec.allowedListeners === undefined
      ? {}
      : { attachedListenerSets: acceptedSets(all).size }),
  }
}

/** Returns the ListenerSets with a listener in force. */
const acceptedSets = (all: readonly TranslatedListener[]): ReadonlySet<unknown> =>
  new Set(
    all
      .filter(({ owner, isProgrammed }) => isProgrammed && isOfSet(owner))
      .map(({ owner }) => owner),
  )

const INSECURE = isTrue(
  'InsecureFrontendValidationMode',
  'ConfigurationChanged',
  'tls.frontend: mode AllowInsecureFallback lets clients in without a valid certificate',
)

type Replacing = Pick<GatewayAddresses, 'unusable' | 'notes'> & {
  /** Replaces Accepted=True. */
  readonly unsupported: Condition | undefined
  /** Fields that have no effect. */
  readonly ignored: readonly FieldPath[]
}

function gatewayConditions(
  gateway: GatewayResource,
  listeners: readonly TranslatedListener[],
  { unsupported, unusable, notes, ignored: unused }: Replacing,
): readonly Condition[] {
  const bad = listeners.filter(({ isProgrammed }) => !isProgrammed).map(({ spec }) => spec.name)
  // Unknown TLS fields make their HTTPS listeners invalid; all others are ignored and reported here.
  const ignored = gateway.unsupported.filter((field) => !isRefusing(gateway, field))
  const tls = concernsNobody(gateway) ? [['spec', 'tls']] : []
  const note = unsupportedNote([...ignored, ...unused, ...tls])
  const isProgrammed = bad.length < listeners.length
  const accepted =
    bad.length === 0
      ? isTrue('Accepted', 'Accepted', `Gateway accepted${note}`)
      : isProgrammed
        ? isTrue('Accepted', 'ListenersNotValid', `Listeners not valid: ${bad.join(', ')}${note}`)
        : isFalse('Accepted', 'ListenersNotValid', `No listener is valid: ${bad.join(', ')}${note}`)
  const programmed = ['Gateway published', ...notes].join('\n')
  return [
    isProgrammed ? (unsupported ?? accepted) : accepted,
    isProgrammed
      ? (unusable ?? isTrue('Programmed', 'Programmed', programmed))
      : isFalse('Programmed', 'Invalid', 'No listener is valid, nothing is published'),
  ]
}

/** Whether the Gateway has settings for clients of HTTPS listeners, but no such listener. */
const concernsNobody = ({ spec }: GatewayResource): boolean =>
  spec.tls?.frontend !== undefined && !spec.listeners.some(({ protocol }) => protocol === 'HTTPS')

/** Returns the fields for objects that Gatehouse creates, where it creates none. */
function unusedInfrastructure(
  { options }: Context,
  { spec }: GatewayResource,
): readonly FieldPath[] {
  if (options.provisions === true) return []
  const { labels, annotations } = spec.infrastructure ?? {}
  const used = Object.entries({ labels, annotations }).filter(([, value]) => value !== undefined)
  return used.map(([member]) => ['spec', 'infrastructure', member])
}

/** Reports unusable parameters. The listeners and the defaults stay in force (decision 22). */
function invalidParameters(context: Context, gateway: GatewayResource): Condition | undefined {
  const problem = gatewayParametersProblem(context, gateway)
  return problem === undefined
    ? undefined
    : isFalse(
        'Accepted',
        'InvalidParameters',
        `infrastructure.parametersRef: ${problem}. The listeners stay in force, with the defaults`,
      )
}

/** Builds the status of a GatewayClass. */
export function gatewayClassStatus(
  context: Context,
  gatewayClass: Resource<GatewayClassSpec>,
): ResourceStatus {
  const { controllerName: named, parametersRef } = gatewayClass.spec
  if (named !== controllerName(context)) return statusOf(gatewayClass, [])
  const problem =
    parametersRef === undefined ? undefined : parametersProblem(context, parametersRef)
  return statusOf(gatewayClass, [
    problem === undefined
      ? isTrue('Accepted', 'Accepted', 'GatewayClass accepted')
      : isFalse('Accepted', 'InvalidParameters', `parametersRef: ${problem}`),
  ])
}

// Describes the Envoys that Gatehouse creates for a Gateway: from the Gateway, its parameters, and those of its class.

/** The image of Envoy if the parameters of the GatewayClass name none. */
const IMAGE = 'envoyproxy/envoy:v1.40-latest'

const RESOURCES: ComputeResources = {
  requests: { cpu: '250m', memory: '256Mi' },
  limits: { memory: '1Gi' },
}

/** Returns undefined if Gatehouse creates no Envoys for the Gateway. listeners: with those of its ListenerSets. */
function provisioned(
  context: Context,
  gateway: GatewayResource,
  listeners: readonly TranslatedListener[],
): ProvisionedGateway | undefined {
  if (context.options.provisions !== true || hasEnvoysByHand(context, gateway)) return undefined
  const { namespace, name } = gateway.metadata
  const ofClass = envoysOf(context, parametersOfClass(context, gateway))
  const own = envoysOf(context, parametersOfGateway(gateway))
  const replicas = own.replicas ?? ofClass.replicas
  const { labels = {}, annotations = {} } = gateway.spec.infrastructure ?? {}
  const problem = problemOf(context, gateway)
  return {
    namespace,
    name,
    annotations,
    objectName: provisionedName(gateway),
    ...(problem === undefined ? {} : { problem }),
    labels: Object.fromEntries(Object.entries(labels).filter(([key]) => !isReserved(context, key))),
    ports: portsOf(gateway, listeners),
    image: ofClass.image ?? IMAGE,
    serviceType: ofClass.serviceType ?? 'LoadBalancer',
    ...(replicas === undefined ? {} : { replicas }),
    resources: resourcesOf(own) ?? resourcesOf(ofClass) ?? RESOURCES,
  }
}

/** Returns why it is not known how its Envoys are to be. */
function problemOf(context: Context, gateway: GatewayResource): string | undefined {
  const own = gatewayParametersProblem(context, gateway)
  if (own !== undefined) return `infrastructure.parametersRef: ${own}`
  const ref = parametersOfClass(context, gateway)
  const problem = ref && parametersProblem(context, ref)
  return problem && `parametersRef of GatewayClass ${gateway.spec.gatewayClassName}: ${problem}`
}

/** Whether a label says to Gatehouse or to the Gateway API what an object is. */
const isReserved = ({ options }: Context, label: string): boolean =>
  [options.apiGroup, 'policy.gatehouse.dev', 'gateway.networking.k8s.io'].some((group) =>
    label.startsWith(`${group}/`),
  )

/** Returns the ports of the listeners in force; if there are none, of the Gateway's own: a Service needs a port. */
function portsOf(
  gateway: GatewayResource,
  listeners: readonly TranslatedListener[],
): readonly number[] {
  const inForce = listeners.filter(({ isProgrammed }) => isProgrammed).map(({ spec }) => spec.port)
  const ports = inForce.length > 0 ? inForce : gateway.spec.listeners.map(({ port }) => port)
  return [...new Set(ports)].sort((a, b) => a - b)
}

/** Returns the resources without members that are not set. */
function resourcesOf({ resources }: EnvoyParameters): ComputeResources | undefined {
  if (resources === undefined) return undefined
  const { requests, limits } = resources
  return {
    ...(requests && { requests: given(requests) }),
    ...(limits && { limits: given(limits) }),
  }
}

const given = (amounts: Readonly<Record<string, string | undefined>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(amounts).flatMap(([name, amount]) =>
      amount === undefined ? [] : [[name, amount]],
    ),
  )

// Resolves the certificate that a Gateway's Envoys present to backends with TLS (Gateway tls.backend).

/** Why a client certificate cannot be used. */
export interface ClientCertificateProblem {
  /** Reason of the Gateway's condition ResolvedRefs. */
  readonly reason: string
  readonly message: string
}

/** A certificate, or why there is none: backends with TLS are then not contacted. */
type ClientCertificate = Result<Certificate, ClientCertificateProblem>

/** Returns undefined for a Gateway that presents no certificate, and for one of a mesh, whose own Envoys present it. */
function clientCertificateOf(
  context: Context,
  { metadata, spec }: GatewayResource,
): ClientCertificate | undefined {
  const ref = spec.tls?.backend?.clientCertificateRef
  if (ref === undefined || context.options.mesh !== undefined) return undefined
  const from = { kind: 'Gateway', namespace: metadata.namespace }
  const found = resolveCertificate(context, from, ref, 'clientCertificateRef')
  if (found.ok || found.error.reason !== 'InvalidCertificateRef') return found
  return err({ ...found.error, reason: 'InvalidClientCertificateRef' })
}

/** Returns the Gateway's condition ResolvedRefs; none for a Gateway without a clientCertificateRef. */
function clientCertificateCondition(
  certificate: ClientCertificate | undefined,
  listeners: readonly TranslatedListener[],
): readonly Condition[] {
  if (certificate === undefined) return []
  if (!certificate.ok)
    return [
      isFalse(
        'ResolvedRefs',
        certificate.error.reason,
        `tls.backend: ${certificate.error.message}. Backends with TLS are answered 503`,
      ),
    ]
  const bad = listeners.filter(({ conditions }) =>
    conditions.some(({ type, status }) => type === 'ResolvedRefs' && status === 'False'),
  )
  return [
    bad.length === 0
      ? isTrue('ResolvedRefs', 'ResolvedRefs', 'All references resolved')
      : isFalse(
          'ResolvedRefs',
          'ListenersNotResolved',
          `Listeners with references that are not resolved: ${bad.map(({ spec }) => spec.name).join(', ')}`,
        ),
  ]
}

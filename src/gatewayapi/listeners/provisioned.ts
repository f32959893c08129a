// Describes the Envoys that Gatehouse creates for a Gateway: from the Gateway, its parameters, and those of its class.

import type { ComputeResources, ProvisionedGateway } from '../../ir/provisioned-gateway.js'
import type { Context } from '../world/context.js'
import { hasEnvoysByHand } from './addresses.js'
import type { GatewayResource, TranslatedListener } from './listeners.js'
import {
  type EnvoyParameters,
  envoysOf,
  gatewayParametersProblem,
  parametersOfClass,
  parametersOfGateway,
  parametersProblem,
} from './parameters.js'
import { provisionedName } from './provisioned-name.js'

/** The image of Envoy if the parameters of the GatewayClass name none. */
const IMAGE = 'envoyproxy/envoy:v1.40-latest'

const RESOURCES: ComputeResources = {
  requests: { cpu: '250m', memory: '256Mi' },
  limits: { memory: '1Gi' },
}

/** Returns undefined if Gatehouse creates no Envoys for the Gateway. listeners: with those of its ListenerSets. */
export function provisioned(
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
    ...{ namespace, name, annotations },
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

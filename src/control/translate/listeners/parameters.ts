// Reads ProxyParameters: the limits of guardrail webhook connections and requirePolicy; reports invalid ones
// (decision 22, specification Limits).

import type { Condition } from '../../../model/status.js'
import type { ProxyParametersSpec } from '../../schema/kinds/proxy-parameters.js'
import { isFalse, isTrue } from '../world/conditions.js'
import type { Context } from '../world/context.js'
import { keyIn } from '../world/world.js'
import type { GatewayResource } from './listeners.js'

/** Largest sensible value of each variable: connections, and seconds (a day). */
const LARGEST: Readonly<Record<string, number>> = {
  GUARDRAIL_WEBHOOK_MAX_CONNECTIONS: 1_000_000,
  GUARDRAIL_WEBHOOK_KEEPALIVE_SECONDS: 86_400,
}

/** Limits of the connections to a webhook. */
export interface WebhookLimits {
  readonly maxConnections: number
  readonly keepAliveSeconds: number
}

/** Returns the parametersRef of the Gateway itself. */
export const parametersOfGateway = ({
  spec,
  metadata,
}: GatewayResource): ParametersRef | undefined =>
  spec.infrastructure?.parametersRef && {
    ...spec.infrastructure.parametersRef,
    namespace: metadata.namespace,
  }

/** Returns the parametersRef of the Gateway's class. */
export const parametersOfClass = (
  { reader }: Context,
  { spec }: GatewayResource,
): ParametersRef | undefined =>
  reader.read('gatewayClasses', keyIn('', spec.gatewayClassName))?.spec.parametersRef

/** Returns NAMESPACE/NAME of the Service that the ProxyParameters name; undefined: none. */
export function envoyServiceOf(
  context: Context,
  ref: ParametersRef | undefined,
): string | undefined {
  const { serviceName } = envoysOf(context, ref)
  return serviceName === undefined ? undefined : keyIn(ref?.namespace ?? 'default', serviceName)
}

/** Returns the limits of the Gateway's ProxyParameters, else of its GatewayClass's, else the defaults. */
export function webhookLimits(context: Context, gateway: GatewayResource): WebhookLimits {
  const { reader } = context
  const ref = parametersOfGateway(gateway) ?? parametersOfClass(context, gateway)
  const isUsable = ref !== undefined && parametersProblem(context, ref) === undefined
  const parameters = isUsable
    ? reader.read('proxyParameters', keyIn(ref.namespace ?? 'default', ref.name))
    : undefined
  const numberOf = (name: string, fallback: number): number =>
    Number(parameters?.spec.env.find((variable) => variable.name === name)?.value ?? fallback)
  return {
    maxConnections: numberOf('GUARDRAIL_WEBHOOK_MAX_CONNECTIONS', 100),
    keepAliveSeconds: numberOf('GUARDRAIL_WEBHOOK_KEEPALIVE_SECONDS', 300),
  }
}

/**
 * Whether routes of the Gateway need a policy that decides. The setting, the Gateway's ProxyParameters or those of
 * its GatewayClass can require it; missing ProxyParameters count as requiring it.
 */
export function requiresPolicy(context: Context, gateway: GatewayResource): boolean {
  const { reader, options } = context
  if (options.requirePolicy === true) return true
  return [parametersOfGateway(gateway), parametersOfClass(context, gateway)].some((ref) => {
    if (ref === undefined || !isParameters(context, ref)) return false
    const key = keyIn(ref.namespace ?? 'default', ref.name)
    const named = reader.read('proxyParameters', key)
    return named === undefined || named.spec.requirePolicy === true
  })
}

/** Builds the conditions of ProxyParameters. */
export function parametersConditions(spec: ProxyParametersSpec): readonly Condition[] {
  const problems = envProblems(spec)
  return [
    problems.length === 0
      ? isTrue('Accepted', 'Accepted', 'Parameters accepted')
      : isFalse('Accepted', 'Invalid', `${problems.join('\n')}; the defaults stay in force`),
  ]
}

function envProblems({ env }: ProxyParametersSpec): readonly string[] {
  return env.flatMap(({ name, value }, index) => {
    const largest = LARGEST[name]
    if (largest === undefined)
      return [
        `env[${index}]: ${name} is not known; expected one of ${Object.keys(LARGEST).join(', ')}`,
      ]
    if (env.findIndex((other) => other.name === name) !== index)
      return [`env[${index}]: ${name} is set twice`]
    return /^\d{1,7}$/.test(value) && Number(value) <= largest
      ? []
      : [`env[${index}]: ${name} is "${value}"; expected a whole number from 0 to ${largest}`]
  })
}

interface ParametersRef {
  readonly group: string
  readonly kind: string
  readonly name: string
  readonly namespace?: string | undefined
}

/** Returns why a parametersRef cannot be used; undefined: it can. */
export function parametersProblem(context: Context, ref: ParametersRef): string | undefined {
  const { group, kind, name, namespace = 'default' } = ref
  if (!isParameters(context, ref))
    return `${kind} of group "${group}" is not known; expected ProxyParameters of ${context.options.apiGroup}`
  const key = keyIn(namespace, name)
  const parameters = context.reader.read('proxyParameters', key)
  if (parameters === undefined) return `ProxyParameters ${key} not found`
  return envProblems(parameters.spec).length === 0
    ? undefined
    : `ProxyParameters ${key} is not valid`
}

/** Returns why the parametersRef of a Gateway itself cannot be used; undefined: it can. */
export function gatewayParametersProblem(
  context: Context,
  gateway: GatewayResource,
): string | undefined {
  const ref = parametersOfGateway(gateway)
  if (ref === undefined) return undefined
  const problem = parametersProblem(context, ref)
  if (problem !== undefined) return problem
  const { image, serviceType } = envoysOf(context, ref)
  const members = Object.entries({ image, serviceType }).filter(([, value]) => value !== undefined)
  const names = members.map(([member]) => `envoys.${member}`).join(', ')
  return names === ''
    ? undefined
    : `ProxyParameters ${keyIn(ref.namespace ?? 'default', ref.name)} sets ${names}, which only those of a GatewayClass may`
}

/** Returns envoys of the ProxyParameters; empty: there is no such object, or it is not valid. */
export function envoysOf(context: Context, ref: ParametersRef | undefined): EnvoyParameters {
  if (ref === undefined || parametersProblem(context, ref) !== undefined) return {}
  const key = keyIn(ref.namespace ?? 'default', ref.name)
  return context.reader.read('proxyParameters', key)?.spec.envoys ?? {}
}

/** Settings for the Envoys of a Gateway. */
export type EnvoyParameters = NonNullable<ProxyParametersSpec['envoys']>

const isParameters = ({ options }: Context, { group, kind }: ParametersRef): boolean =>
  group === options.apiGroup && kind === 'ProxyParameters'

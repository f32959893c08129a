// Reads from an object's status whether the mesh has accepted it, and finds who else claims its target. Pure.

import type { JsonObject } from '../ir/json.js'
import type { GatewayName } from '../ir/status.js'
import { memberOf, objectsOf, textOf } from './json-members.js'

/** Kinds with a status for each Gateway, and where it is. */
const BY_GATEWAY: ReadonlyMap<string, readonly [list: string, ref: string]> = new Map([
  ['SecurityPolicy', ['ancestors', 'ancestorRef']],
  ['EnvoyExtensionPolicy', ['ancestors', 'ancestorRef']],
  ['BackendTrafficPolicy', ['ancestors', 'ancestorRef']],
  ['ClientTrafficPolicy', ['ancestors', 'ancestorRef']],
  ['HTTPRoute', ['parents', 'parentRef']],
])

/** Conditions that are bad when True. */
const BAD = new Set(['Overridden', 'Conflicted'])

/**
 * Returns why the mesh has not accepted the object for all of the Gateways; undefined: it has.
 * @param object as received.
 */
export function acceptanceProblem(
  kind: string,
  object: JsonObject,
  gateways: readonly GatewayName[],
): string | undefined {
  const status = memberOf(object, 'status')
  const place = BY_GATEWAY.get(kind)
  if (kind === 'Backend') return ofConditions(object, status)
  if (kind === 'BackendTLSPolicy') return ofAncestors(object, status)
  if (kind === 'EnvoyFilter') return ofMessages(object, status)
  if (place === undefined) return undefined
  const [list, ref] = place
  const targets = kind === 'ClientTrafficPolicy' ? gateways.filter(isTarget(object)) : gateways
  return targets
    .map((gateway) => {
      const entries = objectsOf(status, list).filter((entry) =>
        isOf(memberOf(entry, ref), gateway, textOf(memberOf(object, 'metadata')['namespace'])),
      )
      if (entries.length === 0) return `not accepted yet for Gateway ${nameOf(gateway)}`
      return entries.map((entry) => ofConditions(object, entry)).find((one) => one !== undefined)
    })
    .find((problem) => problem !== undefined)
}

const isTarget =
  (object: JsonObject) =>
  ({ name }: GatewayName): boolean =>
    targetsOf(object).some((target) => target['name'] === name)

const isOf = (ref: JsonObject, gateway: GatewayName, namespace: string | undefined): boolean =>
  ref['name'] === gateway.name &&
  (textOf(ref['namespace']) ?? namespace ?? 'default') === gateway.namespace

const nameOf = ({ namespace, name }: GatewayName): string => `${namespace}/${name}`

/** A mesh may name the policies that use it instead of their Gateways, or nothing, so that the probes decide. */
const ofAncestors = (object: JsonObject, status: JsonObject): string | undefined =>
  objectsOf(status, 'ancestors')
    .map((entry) => ofConditions(object, entry))
    .find((problem) => problem !== undefined)

/** Only conditions about the current generation count. */
function ofConditions(object: JsonObject, holder: JsonObject): string | undefined {
  const { generation } = memberOf(object, 'metadata')
  const conditions = objectsOf(holder, 'conditions')
  const accepted = conditions.find(({ type }) => type === 'Accepted')
  const bad = conditions.find(
    ({ type, status }) => BAD.has(textOf(type) ?? '') && status === 'True',
  )
  const said = bad ?? accepted
  if (said === undefined) return 'not accepted yet'
  if (bad === undefined && accepted?.['status'] === 'True')
    return Number(accepted['observedGeneration'] ?? generation) < Number(generation)
      ? 'its latest version is not accepted yet'
      : undefined
  const { type, reason, message } = said
  const word = bad === undefined ? textOf(reason) : textOf(type)
  return `${word ?? 'not accepted'}: ${textOf(message) ?? ''}`
}

/**
 * Reads what istiod's analysis has found in the current generation. Warnings are about EnvoyFilters that work, too; an
 * istiod without the analysis reports nothing.
 */
function ofMessages(object: JsonObject, status: JsonObject): string | undefined {
  const { generation } = memberOf(object, 'metadata')
  if (Number(status['observedGeneration'] ?? generation) < Number(generation)) return undefined
  const found = objectsOf(status, 'validationMessages').find(({ level }) => level === 'ERROR')
  if (found === undefined) return undefined
  const code = textOf(memberOf(found, 'type')['code']) ?? 'an error'
  const page = textOf(found['documentationUrl'])
  return `istiod reports ${code}${page === undefined ? '' : ` (${page})`}`
}

function targetsOf(object: JsonObject): readonly JsonObject[] {
  const spec = memberOf(object, 'spec')
  return [...objectsOf(spec, 'targetRefs'), memberOf(spec, 'targetRef')]
}

/** Returns KIND NAMESPACE/NAME of the other objects of a kind that name the same target. */
export function rivalsOf(
  kind: string,
  object: JsonObject,
  all: Iterable<readonly [key: string, object: JsonObject]>,
): readonly string[] {
  const own = memberOf(object, 'metadata')
  const targets = new Set(targetKeys(object))
  return [...all].flatMap(([, other]) => {
    const metadata = memberOf(other, 'metadata')
    if (metadata['namespace'] !== own['namespace'] || metadata['uid'] === own['uid']) return []
    const name = `${textOf(metadata['namespace']) ?? ''}/${textOf(metadata['name']) ?? ''}`
    return targetKeys(other).some((key) => targets.has(key)) ? [`${kind} ${name}`] : []
  })
}

const targetKeys = (object: JsonObject): readonly string[] =>
  targetsOf(object).flatMap(({ kind, name }) => {
    const [of, target] = [textOf(kind), textOf(name)]
    return of === undefined || target === undefined ? [] : [`${of}/${target}`]
  })

// Decides which objects the Envoys of all Gateways need, and whether those of one Gateway are there. Pure.

import type { KeeperInput, WantedObjects } from '../../control/sources/kubernetes/object-keeper.js'
import type { WantedObject } from '../../control/sources/kubernetes/wanted-object.js'
import type { Work } from '../../kit/turns.js'
import { isJsonObject, type JsonObject } from '../../model/json.js'
import type { ProvisionedGateway } from '../../model/provisioned-gateway.js'
import { type EnvoyManifest, PROVISIONED_KINDS } from './manifests.js'

/** The Gateways whose Envoys are to exist. */
export interface ProvisionInput extends KeeperInput {
  readonly gateways: readonly ProvisionedGateway[]
}

/** Returns the objects of all Gateways. Those of a Gateway with a problem stay as they are. */
export function* wantedEnvoys(
  { gateways }: ProvisionInput,
  manifestsOf: (gateway: ProvisionedGateway) => readonly EnvoyManifest[],
): Work<WantedObjects> {
  const objects = new Map<string, WantedObject>()
  const untouched = new Set<string>()
  for (const gateway of gateways) {
    const { namespace, name, problem } = gateway
    if (problem === undefined)
      for (const manifest of manifestsOf(gateway))
        objects.set(keyFor(manifest.kind, gateway), {
          key: keyFor(manifest.kind, gateway),
          manifest,
          owners: [{ namespace, name }],
        })
    else for (const key of keysOf(gateway)) untouched.add(key)
    yield
  }
  return { objects, untouched }
}

const keyFor = (kind: string, { namespace, objectName }: ProvisionedGateway): string =>
  `${kind}/${namespace}/${objectName}`

const keysOf = (gateway: ProvisionedGateway): readonly string[] =>
  PROVISIONED_KINDS.map(({ kind }) => keyFor(kind, gateway))

/** Why the Envoys of a Gateway do not serve it, as its condition Programmed says it. */
export interface ProvisionProblem {
  readonly reason: 'Invalid' | 'NoResources' | 'Pending'
  readonly message: string
}

/** What is known about the objects. */
export interface ProvisionSources {
  /** Returns an object as last received, by its key. */
  readonly objectOf: (key: string) => JsonObject | undefined
  /** Why an object is not as it is wanted, by its key. */
  readonly problems: ReadonlyMap<string, string>
  /** Why the objects cannot be read; empty: they can. */
  readonly obstacles: readonly string[]
}

/** Returns why the Envoys of a Gateway do not serve it; undefined: one of them is ready. */
export function provisionProblem(
  gateway: ProvisionedGateway,
  { objectOf, problems, obstacles }: ProvisionSources,
): ProvisionProblem | undefined {
  if (gateway.problem !== undefined)
    return { reason: 'Invalid', message: `${gateway.problem}. Its Envoys stay as they are` }
  const found = [
    ...obstacles.slice(0, 1),
    ...keysOf(gateway).flatMap((key) => problems.get(key) ?? []),
  ]
  if (found.length > 0) return { reason: 'NoResources', message: found.join('\n') }
  const deployment = objectOf(keyFor('Deployment', gateway))
  const name = `Deployment ${gateway.namespace}/${gateway.objectName}`
  if (deployment === undefined) return pending(`${name} of its Envoys does not exist yet`)
  const { status } = deployment
  const available = isJsonObject(status) ? status['availableReplicas'] : undefined
  return typeof available === 'number' && available > 0
    ? undefined
    : pending(`${name} of its Envoys has no ready pod yet`)
}

const pending = (message: string): ProvisionProblem => ({ reason: 'Pending', message })

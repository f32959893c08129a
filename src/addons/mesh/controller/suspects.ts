// Finds objects of a mesh that may keep Gatehouse's from having their effect, for the message of a route that is not
// proven. The mesh itself reports nothing about them. Pure.

import type { JsonObject } from '../../../model/json.js'
import type { MeshRoute } from '../../../model/mesh-route.js'
import { type GatewayName, nameFor } from '../../../model/status.js'
import { memberOf, objectsOf, textOf } from './json-members.js'

/** What the search for suspects reads. */
export interface SuspectSources {
  ofKind(kind: string): Iterable<readonly [string, JsonObject]>
  /** Kinds that may change what a Gateway does; empty: the mesh names the culprits itself. */
  readonly suspectKinds: readonly string[]
  /** Whether Gatehouse has applied the object. */
  isOwn(object: JsonObject): boolean
}

/** The namespace whose objects Istio applies to all namespaces, unless its configuration names another. */
const ROOT = 'istio-system'
/** Objects in a message. */
const MOST = 3

/** Returns e.g. "EnvoyFilter default/other" for each object of others at the Gateways of a route, as nameFor() its namespace. */
export function suspectsOf(route: MeshRoute, sources: SuspectSources): readonly string[] {
  const found = new Set<string>()
  for (const kind of sources.suspectKinds)
    for (const [, object] of sources.ofKind(kind)) {
      if (found.size === MOST) return [...found]
      if (!sources.isOwn(object) && route.gateways.some(isAt(object)))
        found.add(nameFor(route.namespace, kind, nameOf(object)))
    }
  return [...found]
}

/** Without targetRefs, an object is about all workloads of its namespace, or those that a selector finds. */
const isAt =
  (object: JsonObject) =>
  ({ namespace, name }: GatewayName): boolean => {
    const place = textOf(memberOf(object, 'metadata')['namespace'])
    const spec = memberOf(object, 'spec')
    const targets = [...objectsOf(spec, 'targetRefs'), ...targetRefOf(spec)]
    return targets.length === 0
      ? place === namespace || place === ROOT
      : place === namespace && targets.some((target) => target['name'] === name)
  }

const targetRefOf = (spec: JsonObject): readonly JsonObject[] =>
  spec['targetRef'] === undefined ? [] : [memberOf(spec, 'targetRef')]

function nameOf(object: JsonObject): string {
  const { namespace, name } = memberOf(object, 'metadata')
  return `${textOf(namespace) ?? ''}/${textOf(name) ?? ''}`
}

// Finds valid resources that serve nothing: `check` prints a note for each, not an error.

import type { Metadata, Resources } from '../resources/kinds/resources.js'

/** Returns a note for each resource. apiGroup: value of --api-group. */
export const idleNotes = (resources: Resources, apiGroup: string): readonly string[] => [
  ...foreignGateways(resources, `${apiGroup}/gatehouse`),
  ...resources.httpRoutes.flatMap(({ spec, source, metadata }) =>
    spec.parentRefs.length > 0
      ? []
      : [`${source}: note: HTTPRoute ${named(metadata)} has no parentRefs: no Gateway serves it`],
  ),
]

function foreignGateways(
  { gateways, gatewayClasses }: Resources,
  controller: string,
): readonly string[] {
  const controllers = new Map(
    gatewayClasses.map(({ metadata, spec }) => [metadata.name, spec.controllerName]),
  )
  return gateways.flatMap(({ spec, source, metadata }) => {
    const other = controllers.get(spec.gatewayClassName)
    if (other === undefined || other === controller) return []
    const why = `its GatewayClass ${spec.gatewayClassName} is of ${other}, not of ${controller}`
    return [`${source}: note: Gateway ${named(metadata)} is left alone: ${why}`]
  })
}

const named = ({ namespace, name }: Metadata): string => `${namespace}/${name}`

// Notes about an export that is complete, but may not do what its reader expects.

import type { MeshRoute } from '../ir/mesh-route.js'
import type { Metadata, Resources } from '../resources/kinds/resources.js'

/** The control planes that read each export, by the controllers of their GatewayClasses. */
const READERS = {
  'envoy-gateway': {
    name: 'Envoy Gateway',
    controller: 'gateway.envoyproxy.io/gatewayclass-controller',
  },
  istio: { name: 'Istio', controller: 'istio.io/gateway-controller' },
} as const

/**
 * Returns lines about Gateways whose controller may not read the manifests, and about HTTPRoutes without a policy.
 * routes: those that are exported.
 */
export const exportNotes = (
  resources: Pick<Resources, 'gateways' | 'gatewayClasses' | 'httpRoutes'>,
  routes: readonly MeshRoute[],
  mesh: keyof typeof READERS,
): readonly string[] => [
  ...otherControllers(resources, routes, READERS[mesh]),
  ...openRoutes(resources, routes),
]

function otherControllers(
  { gateways, gatewayClasses }: Pick<Resources, 'gateways' | 'gatewayClasses'>,
  routes: readonly MeshRoute[],
  reader: { readonly name: string; readonly controller: string },
): readonly string[] {
  const controllers = new Map(
    gatewayClasses.map(({ metadata, spec }) => [metadata.name, spec.controllerName]),
  )
  const exported = new Set(routes.flatMap((route) => route.gateways.map(named)))
  return gateways.flatMap(({ spec, source, metadata }) => {
    const controller = controllers.get(spec.gatewayClassName)
    if (controller === undefined || controller === reader.controller) return []
    if (!exported.has(named(metadata))) return []
    return [
      `${source}: note: Gateway ${named(metadata)} is of ${controller}: the manifests protect its routes only if that is ${reader.name}\n`,
    ]
  })
}

/** Says how many HTTPRoutes stay as they are, apart from those of an earlier export. */
function openRoutes(
  { httpRoutes }: Pick<Resources, 'httpRoutes'>,
  routes: readonly MeshRoute[],
): readonly string[] {
  if (routes.length === 0) return ['note: no HTTPRoute has a policy: there is nothing to apply\n']
  const exported = new Set(
    routes.flatMap(({ namespace, name, documents }) =>
      [name, documents?.route ?? name].map((each) => named({ namespace, name: each })),
    ),
  )
  const open = httpRoutes.filter(({ metadata }) => !exported.has(named(metadata))).length
  if (open === 0) return []
  const which = `${open} of ${open + routes.length} HTTPRoutes`
  return [`note: ${which} have no policy, and stay as they are\n`]
}

const named = ({ namespace, name }: Pick<Metadata, 'namespace' | 'name'>): string =>
  `${namespace}/${name}`

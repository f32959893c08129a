// Finds the HTTPRoutes of a mesh that no policy protects, in the state of the pipeline.

import {
  createOpenPaths,
  type OpenListener,
  type OpenPaths,
  type OtherRoute,
  pathTypeOf,
} from '../../controller/open-paths.js'
import type { PathOrder } from '../../controller/path-overlap.js'
import type { Wanted } from '../../controller/wanted.js'
import { memo } from '../../incremental/memo.js'
import type { MeshRoute } from '../../ir/mesh-route.js'
import type { GatewayName } from '../../ir/status.js'
import type { Resources } from '../../resources/kinds/resources.js'
import type { PipelineState } from '../pipeline/pipeline.js'

/** Returns a function that reuses its last result while the routes are the same. */
export function createOpenPathsOf(
  order: PathOrder,
): (state: PipelineState, wanted: Wanted) => OpenPaths {
  const otherOf = memo(otherRoute)
  let last: { readonly from: readonly unknown[]; readonly paths: OpenPaths } | undefined
  return ({ provider, translation }, { objects }) => {
    const httpRoutes = provider?.resources.httpRoutes ?? []
    const mesh = translation?.mesh ?? []
    const gateways = provider?.resources.gateways ?? []
    const from = [httpRoutes, mesh, gateways]
    if (last !== undefined && from.every((each, index) => each === last?.from[index]))
      return last.paths
    const closed = new Set(mesh.filter(isClosed).map(nameKey))
    const others = function* (): Iterator<OtherRoute> {
      for (const route of httpRoutes) {
        const key = nameKey(route.metadata)
        if (!closed.has(key) && !objects.has(`HTTPRoute/${key}`)) yield otherOf(route)
      }
    }
    const created = new Map(
      [...httpRoutes].map(({ metadata }) => [nameKey(metadata), metadata.creationTimestamp]),
    )
    const paths = createOpenPaths(
      { [Symbol.iterator]: others },
      {
        order,
        listenersOf: listenersIn(gateways),
        createdOf: (route) => created.get(nameKey(route)),
      },
    )
    last = { from, paths }
    return paths
  }
}

const nameKey = ({ namespace, name }: { readonly namespace: string; readonly name: string }) =>
  `${namespace}/${name}`

/** Whether something other than policies of mode Audit decides about its requests. */
const isClosed = ({ authz, isGuarded, isRefused }: MeshRoute): boolean =>
  isRefused === true || isGuarded || (authz !== undefined && authz.isAudited !== true)

function listenersIn(
  gateways: Resources['gateways'],
): (gateway: GatewayName) => readonly OpenListener[] {
  const byName = new Map([...gateways].map((each) => [nameKey(each.metadata), each.spec]))
  return (gateway) => byName.get(nameKey(gateway))?.listeners ?? []
}

type HttpRouteResource = Resources['httpRoutes'][number]

const otherRoute = ({ metadata, spec }: HttpRouteResource): OtherRoute => ({
  namespace: metadata.namespace,
  name: metadata.name,
  created: metadata.creationTimestamp,
  parents: spec.parentRefs,
  hostnames: spec.hostnames,
  paths: spec.rules.flatMap(({ matches }) =>
    matches.length === 0
      ? [{ path: '/', type: 'prefix', isNarrower: false }]
      : matches.map(({ path, headers, queryParams, method }) => ({
          path: path.value,
          type: pathTypeOf(path.type),
          isNarrower: headers.length + queryParams.length > 0 || method !== undefined,
        })),
  ),
})

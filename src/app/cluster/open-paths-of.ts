// Finds the HTTPRoutes of a mesh that no policy protects, in the state of the pipeline.

import { createOpenPaths, type OpenPaths, type OtherRoute } from '../../controller/open-paths.js'
import type { Wanted } from '../../controller/wanted.js'
import { memo } from '../../incremental/memo.js'
import type { MeshRoute } from '../../ir/mesh-route.js'
import type { Resources } from '../../resources/kinds/resources.js'
import type { PipelineState } from '../pipeline/pipeline.js'

/** Returns a function that reuses its last result while the routes are the same. */
export function createOpenPathsOf(): (state: PipelineState, wanted: Wanted) => OpenPaths {
  const otherOf = memo(otherRoute)
  let last: { readonly from: readonly unknown[]; readonly paths: OpenPaths } | undefined
  return ({ provider, translation }, { objects }) => {
    const httpRoutes = provider?.resources.httpRoutes ?? []
    const mesh = translation?.mesh ?? []
    if (last?.from[0] === httpRoutes && last.from[1] === mesh) return last.paths
    const closed = new Set(mesh.filter(isClosed).map(httpRouteKey))
    const others = [...httpRoutes].filter(
      ({ metadata }) =>
        !closed.has(httpRouteKey(metadata)) && !objects.has(`HTTPRoute/${httpRouteKey(metadata)}`),
    )
    const paths = createOpenPaths(others.map(otherOf))
    last = { from: [httpRoutes, mesh], paths }
    return paths
  }
}

const httpRouteKey = ({ namespace, name }: { readonly namespace: string; readonly name: string }) =>
  `${namespace}/${name}`

/** Whether something other than policies of mode Audit decides about its requests. */
const isClosed = ({ authz, isGuarded, isRefused }: MeshRoute): boolean =>
  isRefused === true || isGuarded || (authz !== undefined && authz.isAudited !== true)

type HttpRouteResource = Resources['httpRoutes'][number]

const otherRoute = ({ metadata, spec }: HttpRouteResource): OtherRoute => ({
  namespace: metadata.namespace,
  name: metadata.name,
  parents: spec.parentRefs,
  hostnames: spec.hostnames,
  paths: spec.rules.flatMap(({ matches }) =>
    matches.length === 0
      ? [{ path: '/', isExact: false, isNarrower: false }]
      : matches.map(({ path, headers, queryParams, method }) => ({
          path: path.value,
          isExact: path.type === 'Exact',
          isNarrower: headers.length + queryParams.length > 0 || method !== undefined,
        })),
  ),
})

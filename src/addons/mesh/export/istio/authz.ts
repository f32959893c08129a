// Decides which filter asks Gatehouse: one that the EnvoyFilter inserts, or the one that istiod makes of an
// AuthorizationPolicy with action CUSTOM.

import type { MeshRoute } from '../../../../model/mesh-route.js'
import type { PathMatch } from '../../../../model/route.js'
import type { GatewayName } from '../../../../model/status.js'
import { EXT_AUTHZ_FILTER } from '../../../../xds/translator/filters/ext-authz.js'
import { policyName, targetRef } from '../gateway-api.js'
import { type Manifest, metadataOf } from '../manifest.js'
import { AUTHZ_FILTER } from './names.js'

/** Name of the filter that routes configure. customProvider: extension provider of the mesh; absent: none is used. */
export const authzFilterOf = (customProvider: string | undefined): string =>
  customProvider === undefined ? AUTHZ_FILTER : EXT_AUTHZ_FILTER

/** The AuthorizationPolicy of a Gateway; none if no route of it is protected. Audited routes have a filter of their own. */
export function customPolicy(
  { namespace, name }: GatewayName,
  routes: readonly MeshRoute[],
  provider: string,
): readonly Manifest[] {
  const paths = routes.flatMap(checkedPaths).flatMap(authorizationPaths)
  if (paths.length === 0) return []
  return [
    {
      apiVersion: 'security.istio.io/v1',
      kind: 'AuthorizationPolicy',
      metadata: metadataOf(namespace, policyName(name)),
      spec: {
        targetRefs: [targetRef('Gateway', name)],
        action: 'CUSTOM',
        provider: { name: provider },
        // Applies to all hosts: if Istio compared a host differently from Envoy's routes, the route would be open.
        rules: [{ to: [{ operation: { paths: [...new Set(paths)].sort() } }] }],
      },
    },
  ]
}

const checkedPaths = ({ authz }: MeshRoute): readonly PathMatch[] =>
  authz === undefined || authz.isAudited === true ? [] : authz.paths

/** Returns the paths of an AuthorizationPolicy, where a "*" at the end stands for any text. */
const authorizationPaths = ({ type, value }: PathMatch): readonly string[] =>
  type === 'PathPrefix' ? [value, `${value.replace(/\/$/, '')}/*`] : [value]

/** Reports paths that an AuthorizationPolicy cannot name, or that would have all routes of the Gateway checked. */
export const pathProblems = (route: MeshRoute): readonly string[] =>
  checkedPaths(route).flatMap(({ type, value }) =>
    type === 'RegularExpression' || /[*{}]/.test(value)
      ? [`path ${value} ${CANNOT_BE_NAMED}`]
      : type === 'PathPrefix' && value === '/'
        ? [`path / ${IS_EVERYTHING}`]
        : [],
  )

const CANNOT_BE_NAMED =
  'cannot be in an AuthorizationPolicy: expected an exact path or a prefix without "*", "{" and "}"'
const IS_EVERYTHING =
  'in an AuthorizationPolicy covers every route of the Gateway, also the OAuth documents: expected a longer prefix'

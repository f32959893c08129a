// Builds the patches of an EnvoyFilter that enable Gatehouse's filters on the Envoy routes of one HTTPRoute. A patch
// finds them by their name, which other HTTPRoutes may use too: it only ever enables, never disables.

import type { Any } from '@bufbuild/protobuf/wkt'
import type { JsonObject } from '../../../../model/json.js'
import type { MeshRoute, MeshRule } from '../../../../model/mesh-route.js'
import { listsKey, refusedKey, routeKey } from '../../../../model/names.js'
import { buildCorsPolicy, CORS_FILTER } from '../../../../xds/translator/filters/cors.js'
import { AUDIT_FILTER, buildCheckSettings } from '../../../../xds/translator/filters/ext-authz.js'
import { buildExtProcPerRoute } from '../../../../xds/translator/filters/ext-proc.js'
import { isSealable } from '../sealed-routes.js'
import { anyJson, durationJson } from './envoy-json.js'
import { documentsNames, namedRules, spareName } from './named-rules.js'
import { PROC_FILTER } from './names.js'

/** An element of an EnvoyFilter's configPatches. */
export type ConfigPatch = JsonObject

/** Options of the patches of one Gateway. */
export interface PatchOptions {
  readonly isSealed: boolean
  /** Name of the filter that asks Gatehouse. */
  readonly authzFilter: string
  /** Whether a rule that is added at the end is patched before it exists. */
  readonly hasSpare?: boolean
  /** Whether requests for documents are checked too, by a key that allows their paths. */
  readonly checksDocuments: boolean
}

/** Returns the patches for the routes of an HTTPRoute and of its documents. */
export const routePatches = (
  route: MeshRoute,
  { isSealed, authzFilter, hasSpare = false, checksDocuments }: PatchOptions,
): readonly ConfigPatch[] => [
  ...namedRules(route, isSealed && isSealable(route)).flatMap(({ name, rule }) => [
    filterPatch(name, filtersOf(route, authzFilter)),
    // Another route may have the same name, and Envoy rejects two of the same upgrade.
    ...(isRefused(route) ? [] : [actionPatch(name, route, rule)]),
  ]),
  ...(hasSpare ? [filterPatch(spareName(route), filtersOf(route, authzFilter))] : []),
  ...documentsNames(route).map((name, index) =>
    filterPatch(name, {
      ...documentsFilters(route, index),
      ...(checksDocuments ? documentsCheck(route, index, authzFilter) : {}),
    }),
  ),
]

const isRefused = ({ namespace, name, authz }: MeshRoute): boolean =>
  authz?.key === refusedKey(namespace, name)

type PerFilter = Readonly<Record<string, Any>>

function filtersOf(route: MeshRoute, authzFilter: string): PerFilter {
  const { authz, cors, isGuarded, namespace, name } = route
  const key = routeKey(namespace, name, 0)
  return {
    ...(cors === undefined ? {} : { [CORS_FILTER]: buildCorsPolicy(cors) }),
    ...(authz === undefined
      ? {}
      : {
          [authz.isAudited === true ? AUDIT_FILTER : authzFilter]: buildCheckSettings(authz.key, {
            ...(authz.bodyBytes === undefined ? {} : { authzBodyBytes: authz.bodyBytes }),
            ...(authz.isBodyAudited === undefined ? {} : { isBodyAudited: authz.isBodyAudited }),
          }),
        }),
    ...(isGuarded ? { [PROC_FILTER]: buildExtProcPerRoute({ key, mode: 'guard' }) } : {}),
    ...(authz?.filtersLists === true
      ? { [PROC_FILTER]: buildExtProcPerRoute({ key: listsKey(key), mode: 'lists' }) }
      : {}),
  }
}

function documentsFilters({ namespace, documents }: MeshRoute, index: number): PerFilter {
  if (documents === undefined) return {}
  const key = routeKey(namespace, documents.route, index)
  return {
    // The pages of a relay have no CORS: pages of other origins must not read them.
    ...(index === 0 ? { [CORS_FILTER]: buildCorsPolicy(documents.cors) } : {}),
    [PROC_FILTER]: buildExtProcPerRoute({ key, mode: 'well-known' }),
  }
}

const documentsCheck = (
  { namespace, documents }: MeshRoute,
  index: number,
  authzFilter: string,
): PerFilter =>
  documents === undefined
    ? {}
    : { [authzFilter]: buildCheckSettings(routeKey(namespace, documents.route, index), {}) }

const filterPatch = (name: string, filters: PerFilter): ConfigPatch =>
  patchOf(
    { name },
    {
      typed_per_filter_config: Object.fromEntries(
        Object.entries(filters).map(([filter, config]) => [filter, anyJson(config)]),
      ),
    },
  )

/** Only for routes that forward: merged into a redirect, these fields would replace it. */
function actionPatch(name: string, route: MeshRoute, rule: MeshRule): ConfigPatch {
  const timeoutMs = timeoutOf(rule, route.requestMs)
  return patchOf(
    { name, action: 'ROUTE' },
    {
      route: {
        ...(timeoutMs === undefined ? {} : { timeout: durationJson(timeoutMs) }),
        ...(route.isEndless ? { idle_timeout: durationJson(0) } : {}),
        // An upgraded connection carries messages that neither the rules nor the webhooks would see.
        ...(isSealable(route)
          ? { upgrade_configs: [{ upgrade_type: 'websocket', enabled: false }] }
          : {}),
      },
    },
  )
}

/** Returns the policy's timeout, or the rule's own one if it is shorter. Without a policy's, the mesh applies its own. */
function timeoutOf(
  { timeouts, retry }: MeshRule,
  policyMs: number | undefined,
): number | undefined {
  if (policyMs === undefined) return undefined
  // With retries, that of the backend limits each try.
  const backendMs = retry === undefined ? timeouts.backendRequest : undefined
  const own = [timeouts.request, backendMs].flatMap((ms) =>
    ms === undefined || ms === 0 ? [] : [ms],
  )
  return Math.min(policyMs, ...own)
}

const patchOf = (route: JsonObject, value: JsonObject): ConfigPatch => ({
  applyTo: 'HTTP_ROUTE',
  match: { context: 'GATEWAY', routeConfiguration: { vhost: { route } } },
  patch: { operation: 'MERGE', value },
})

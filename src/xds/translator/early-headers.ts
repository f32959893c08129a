// Headers that only we or Envoy may set: taken from every request before any filter or route sees it.

import type { JsonObject } from '../../ir/json.js'
import { any } from './json-object.js'

const REMOVED_PREFIX = 'x-gatehouse-'

/** Envoy's own notes to ext_authz servers and backends, worth forging (CVE-2023-27487 for the path). */
const REMOVED_HEADERS = [
  'x-envoy-auth-partial-body',
  'x-envoy-original-host',
  'x-envoy-original-path',
]

/** envoy.config.core.v3.TypedExtensionConfig */
export const buildEarlyHeaderMutation = (): JsonObject => ({
  name: 'envoy.http.early_header_mutation.header_mutation',
  typed_config: any(
    'envoy.extensions.http.early_header_mutation.header_mutation.v3.HeaderMutation',
    {
      mutations: [
        { remove_on_match: { key_matcher: { prefix: REMOVED_PREFIX, ignore_case: true } } },
        ...REMOVED_HEADERS.map((name) => ({ remove: name })),
      ],
    },
  ),
})

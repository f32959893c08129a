// The context of every translation step: the reader of its revision and the settings.

import type { AllowedAddress } from '../../../kit/addresses/address-rules.js'
import type { Work } from '../../../kit/turns.js'
import type { Mesh } from '../../../model/mesh-route.js'
import type { Reader } from './queries.js'
import type { RelayKeys } from './world.js'

/** Settings of the translation. */
export interface TranslatorOptions {
  /** API group of Gatehouse's own kinds, e.g. policy.gatehouse.dev. */
  readonly apiGroup: string
  /** DNS domain for Services whose endpoints are not in the files, e.g. cluster.local. */
  readonly clusterDomain: string
  /** The default of mcp.metadataIssuer (decision 10a). */
  readonly metadataIssuer: 'Provider' | 'Gateway'
  /** Default of mcp_protocol_version in resource metadata; absent: the default of src/extauthz/oauth. */
  readonly mcpProtocolVersion?: string
  /** The largest body that rules about MCP messages may ask for; default 1 MiB. */
  readonly mcpBodyBytes?: number
  /** Whether a route refuses if no policy decides who may use it; default: it is open. */
  readonly requirePolicy?: boolean
  /** Number of buckets that a keyed rate limit has in each Envoy; default 10,000. */
  readonly rateLimitBuckets?: number
  /** Returns the sealing keys that no Secret holds, once for each translation; absent: none, an error. */
  readonly relayKeys?: () => RelayKeys
  /** Whether the resources come from a cluster: a Gateway whose GatewayClass is missing is then not Gatehouse's. */
  readonly isCluster?: boolean
  /** Whether one Envoy serves several Gateways, so they cannot share a port; default: true for files. */
  readonly sharesEnvoys?: boolean
  /** Set if a mesh serves the Gateways: their routes then get table entries but no Envoy configuration. */
  readonly mesh?: Mesh
  /** Whether Gatehouse creates Envoys for Gateways that have none. */
  readonly provisions?: boolean
  /** Set in a cluster, where tenants must not reach Gatehouse's own addresses; absent: Envoy resolves names. */
  readonly tenancy?: Tenancy
}

/** Addresses that backends must not lead to (decision 30a), and the exceptions. */
export interface Tenancy {
  /** Addresses of the pod that Gatehouse runs in. */
  readonly ownAddresses: readonly string[]
  /** The Service that Envoys connect to. */
  readonly ownService: { readonly namespace: string; readonly name: string }
  readonly allowed: readonly AllowedAddress[]
}

/** What every step of the translation may read. */
export interface Context {
  readonly reader: Reader
  readonly options: TranslatorOptions
}

/** Returns the result of a query about a subject (queries.ts), memoised until something it read changes. */
export const query = <Value>(
  context: Context,
  name: string,
  subject: unknown,
  compute: (context: Context, previous: Value | undefined) => Value,
): Value =>
  context.reader.query<Value>(name, subject, (reader, previous) =>
    compute({ reader, options: context.options }, previous),
  )

/** Like query(), for a query that is computed in slices. */
export const queryWork = <Value>(
  context: Context,
  name: string,
  subject: unknown,
  compute: (context: Context, previous: Value | undefined) => Work<Value>,
): Work<Value> =>
  context.reader.queryWork<Value>(name, subject, (reader, previous) =>
    compute({ reader, options: context.options }, previous),
  )

// What every step of the translation is given: the reader of its revision and the settings.

import type { AllowedAddress } from '../../addresses/address-rules.js'
import type { Mesh } from '../../ir/mesh-route.js'
import type { Reader } from './queries.js'

export interface TranslatorOptions {
  /** Of our own kinds, e.g. policy.gatehouse.dev. */
  readonly apiGroup: string
  /** e.g. cluster.local: for Services without endpoints in the files. */
  readonly clusterDomain: string
  /** The default of mcp.metadataIssuer (decision 10a). */
  readonly metadataIssuer: 'Provider' | 'Gateway'
  /** mcp_protocol_version of resource metadata, where the policy says none; absent: oauth's default. */
  readonly mcpProtocolVersion?: string
  /** The largest body that rules about MCP messages may ask for; default 1 MiB. */
  readonly mcpBodyBytes?: number
  /** A route without a policy that decides who may use it refuses; default: it is open. */
  readonly requirePolicy?: boolean
  /** How many buckets one rate limit with a key has in each Envoy; default 10,000. */
  readonly rateLimitBuckets?: number
  /** What relays without a keyRef seal with: base64url of 32 bytes each, the first writes. Absent: they are refused. */
  readonly relayKeys?: {
    readonly keys: readonly string[]
    /** Made by this process, and gone with it. */
    readonly areOwn: boolean
  }
  /** The resources are a cluster's: a Gateway is ours only by its GatewayClass. In files each is. */
  readonly isCluster?: boolean
  /** One Envoy serves several Gateways, so that two of them cannot have one port; default: in files. */
  readonly sharesEnvoys?: boolean
  /** Gateways are a mesh's: their routes get table entries, and no configuration of Envoy. Absent: they are Gatehouse's. */
  readonly mesh?: Mesh
  /** In a cluster, where namespaces must not reach what is Gatehouse's; absent: names are for Envoy to resolve. */
  readonly tenancy?: Tenancy
}

/** What backends must not lead to (decision 30a). */
export interface Tenancy {
  /** Of the pod that Gatehouse runs in. */
  readonly ownAddresses: readonly string[]
  /** The Service that Envoys connect to. */
  readonly ownService: { readonly namespace: string; readonly name: string }
  readonly allowed: readonly AllowedAddress[]
}

export interface Context {
  readonly reader: Reader
  readonly options: TranslatorOptions
}

/** The result of a query about a subject (queries.ts): memoised while nothing that it read has changed. */
export const query = <Value>(
  context: Context,
  name: string,
  subject: unknown,
  compute: (context: Context, previous: Value | undefined) => Value,
): Value =>
  context.reader.query<Value>(name, subject, (reader, previous) =>
    compute({ reader, options: context.options }, previous),
  )

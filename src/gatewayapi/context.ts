// What every step of the translation is given: the reader of its round and the settings.

import type { Reader } from './recall.js'

export interface TranslatorOptions {
  /** Of our own kinds, e.g. policy.gatehouse.dev. */
  readonly apiGroup: string
  /** e.g. cluster.local: for Services without endpoints in the files. */
  readonly clusterDomain: string
  /** The default of mcp.metadataIssuer (decision 10a). */
  readonly metadataIssuer: 'Provider' | 'Gateway'
}

export interface Context {
  readonly reader: Reader
  readonly options: TranslatorOptions
}

export const GATEWAY_API_GROUP = 'gateway.networking.k8s.io'

/**
 * The remembered result of compute; what it reads is noted for it alone. A compute that is about a resource it was
 * handed must read that resource too, or another one of the same name would not be noticed.
 */
export const recalled = <Value>(
  context: Context,
  key: string,
  compute: (context: Context) => Value,
): Value => context.reader.recall(key, (reader) => compute({ ...context, reader }))

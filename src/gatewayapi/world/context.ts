// What every step of the translation is given: the reader of its revision and the settings.

import type { Reader } from './queries.js'

export interface TranslatorOptions {
  /** Of our own kinds, e.g. policy.gatehouse.dev. */
  readonly apiGroup: string
  /** e.g. cluster.local: for Services without endpoints in the files. */
  readonly clusterDomain: string
  /** The default of mcp.metadataIssuer (decision 10a). */
  readonly metadataIssuer: 'Provider' | 'Gateway'
  /** The resources are a cluster's: a Gateway is ours only by its GatewayClass. In files each is. */
  readonly isCluster?: boolean
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

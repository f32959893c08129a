// Reads bundles of authorities from ConfigMaps and Secrets. Each is parsed once, and a long one in slices: a megabyte takes
// 50 ms, and every listener and policy of a namespace may name it.

import { err, ok, type Result } from '../../../kit/result.js'
import { atOnce, type Work } from '../../../kit/turns.js'
import { type Context, query, queryWork } from './context.js'
import { isCertificates } from './pem.js'
import type { LongQuery } from './prepared.js'

/** The member of a ConfigMap or Secret that has the authorities. */
export const CA_KEY = 'ca.crt'

type Table = 'configMaps' | 'secrets'

const nameOf = (table: Table): string => `authorities of ${table}`

/** key: of the object. undefined: it does not exist, or its authorities cannot be read. */
export const authoritiesIn = (context: Context, table: Table, key: string): string | undefined =>
  query(context, nameOf(table), key, (own) => atOnce(readAuthorities(own, table, key)))

const textOf = ({ reader }: Context, table: Table, key: string): string | undefined =>
  reader.read(table, key)?.spec.data[CA_KEY]

function* readAuthorities(context: Context, table: Table, key: string): Work<string | undefined> {
  const pem = textOf(context, table, key)
  return pem !== undefined && (yield* isCertificates(pem)) ? pem : undefined
}

/** Characters of a text in PEM from which on it is parsed in slices. */
export const LONG_PEM = 8 * 1024

const longAuthorities = (table: Table): LongQuery => ({
  table,
  isLong: (context, key) => (textOf(context, table, key)?.length ?? 0) > LONG_PEM,
  ask: (context, key) =>
    queryWork(context, nameOf(table), key, (own) => readAuthorities(own, table, key)),
})

/** Authorities that take long to be parsed. */
export const LONG_AUTHORITIES: readonly LongQuery[] = [
  longAuthorities('configMaps'),
  longAuthorities('secrets'),
]

/** Joins bundles, or says what is wrong: Envoy gets a copy for every listener or backend. most: characters. */
export function joinAuthorities(bundles: readonly string[], most: number): Result<string, string> {
  const all = `${bundles.map((bundle) => bundle.trim()).join('\n')}\n`
  return all.length <= most
    ? ok(all)
    : err(`the authorities have ${all.length} characters together; at most ${most} are possible`)
}

// Reads bundles of authorities from ConfigMaps and Secrets. Each is parsed once: a megabyte takes 50 ms, and every listener
// and policy of a namespace may name it.

import { type Context, query } from './context.js'
import { isCertificates } from './pem.js'

/** The member of a ConfigMap or Secret that has the authorities. */
export const CA_KEY = 'ca.crt'

/** key: of the object. undefined: it does not exist, or its authorities cannot be read. */
export const authoritiesIn = (
  context: Context,
  table: 'configMaps' | 'secrets',
  key: string,
): string | undefined =>
  query(context, `authorities of ${table}`, key, ({ reader }) => {
    const pem = reader.read(table, key)?.spec.data[CA_KEY]
    return pem !== undefined && isCertificates(pem) ? pem : undefined
  })

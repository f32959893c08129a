// --remembered-tokens is a total of all workers. Tested with one and four.

import { beforeAll, expect, test } from 'vitest'
import {
  changesBetween,
  createWorkerTables,
  NO_TABLES,
  partsOf,
} from '../../../src/control/workers/table-changes.js'
import { atOnce } from '../../../src/kit/turns.js'
import {
  available,
  bearer,
  checker,
  entry,
  jwt,
  KEY,
  sign,
  type SigningKey,
  signingKey,
} from '../../extauthz/helpers.js'

const TOTAL = 8
const TOKENS = 20

let key: SigningKey

beforeAll(async () => {
  key = await signingKey('ES256')
})

/** Creates the tables of a worker from what the main process sends. */
function tablesOfWorker(workers: number) {
  const tables = createWorkerTables({ rememberedTokens: TOTAL, workers }, () => 0)
  const authz = [entry({ jwt: jwt(available(key.jwk)) })]
  const parts = partsOf(changesBetween(NO_TABLES, { authz, proc: [] }))
  atOnce(tables.change(structuredClone(parts)))
  return tables
}

test.each([1, 4])('%i remember as many tokens, whoever verified them', async (workers) => {
  const all = Array.from({ length: workers }, () => tablesOfWorker(workers))
  const tokens = await Promise.all(
    Array.from({ length: TOKENS }, (_, index) => sign(key, { jti: String(index) })),
  )
  for (const tables of all) {
    const { check } = checker([], { table: () => tables.authz })
    for (const token of tokens)
      for (let use = 0; use < 2; use++)
        expect((await check({ headers: [bearer(token)] })).status).toBe(200)
  }
  const remembered = all.map((tables) => tables.authz.get(KEY)?.jwt?.providers[0]?.memory.size)
  expect(remembered).toEqual(Array.from({ length: workers }, () => TOTAL / workers))
})

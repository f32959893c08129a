// The keys of a set are imported in slices: a set of the maximum size takes 20 ms, and a tenant writes it.

import { generateKeyPairSync } from 'node:crypto'
import { expect, test } from 'vitest'
import { authzTableWork, buildAuthzTable } from '../../src/extauthz/authz-table.js'
import { importKeys } from '../../src/extauthz/token/provider.js'
import type { Work } from '../../src/kit/turns.js'
import type { AuthzEntry } from '../../src/model/authz-entry.js'
import type { JsonObject } from '../../src/model/json.js'

const KEYS = 256
const p521 = generateKeyPairSync('ec', { namedCurve: 'P-521' }).publicKey.export({ format: 'jwk' })
const jwks = {
  keys: Array.from({ length: KEYS }, (_, index) => ({ ...p521, kid: String(index) })),
} as unknown as JsonObject

function slicesOf<T>(work: Work<T>): { readonly value: T; readonly slices: number } {
  let step = work.next()
  let slices = 1
  for (; step.done !== true; slices += 1) step = work.next()
  return { value: step.value, slices }
}

test('one key is imported between two yields, and a bad one is left out', () => {
  const bad = { ...p521, x: p521.y ?? '' }
  const { value, slices } = slicesOf(
    importKeys({ keys: [...(jwks['keys'] as JsonObject[]).slice(1), bad] }),
  )
  expect(value.map(({ kid }) => kid)).toEqual(
    Array.from({ length: KEYS - 1 }, (_, at) => String(at + 1)),
  )
  expect(slices).toBeGreaterThan(KEYS)
})

test('a table is built in as many slices, and providers of equal content share their keys', () => {
  const provider = {
    issuer: 'https://idp.example',
    audiences: ['a'],
    keySet: { state: 'available', source: { type: 'inline' }, jwks },
  } as const
  const entry = (key: string): AuthzEntry => ({
    key,
    route: `default/${key}`,
    paths: [{ type: 'PathPrefix', value: '/' }],
    jwt: { mode: 'Strict', forwardToken: false, providers: [{ ...provider }] },
  })
  const { value, slices } = slicesOf(authzTableWork([entry('a'), entry('b')]))
  expect(slices).toBeGreaterThan(KEYS)
  expect(slices).toBeLessThan(2 * KEYS)
  expect(value.get('a')?.jwt?.providers[0]).toBe(value.get('b')?.jwt?.providers[0])
  expect(buildAuthzTable([], value).size).toBe(0)
})

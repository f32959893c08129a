// Runs config/examples/limits-and-headers.yaml with only its addresses and keys changed.

import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { type Backend, startBackend } from '../support/backend.js'
import { bearer, send } from '../support/http.js'
import { type Stack, startStack } from '../support/stack.js'
import { keySet, newKey, signToken } from '../support/tokens.js'

const EXAMPLE = resolve(import.meta.dirname, '../../config/examples/limits-and-headers.yaml')

const key = await newKey('1')
let backend: Backend
let stack: Stack

beforeAll(async () => {
  backend = await startBackend()
  backend.answer((_, reply) => reply.writeHead(200, { 'x-powered-by': 'php' }).end('orders'))
  const text = await readFile(EXAMPLE, 'utf8')
  stack = await startStack({
    resources: (port) =>
      parseAllDocuments(
        text
          .replace('port: 8080', `port: ${String(port)}`)
          .replace('port: 3000', `port: ${String(backend.port)}`)
          .replace(/inline: .*/, `inline: '${JSON.stringify(keySet(key))}'`),
      ).map((document) => document.toJS() as object),
  })
})
afterAll(async () => {
  await stack.close()
  await backend.close()
})

async function call(sub: string, headers: Record<string, string> = {}) {
  const claims = { iss: 'https://login.example.com/', aud: 'orders', sub, groups: ['a', 'b'] }
  const token = await signToken({ key, claims })
  return send(stack.origin, '/orders', { headers: { ...bearer(token), ...headers } })
}

test('each caller has ten requests at once, and the backend learns who calls', async () => {
  const all = await Promise.all(Array.from({ length: 60 }, () => call('ann')))
  const refused = all.filter(({ status }) => status === 429)
  expect(all.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(10)
  expect(refused[0]?.headers['retry-after']).toBe('1')
  const answer = await call('bob', { 'x-user': 'ann', 'x-groups': 'root', 'x-debug': '1' })
  expect(answer.status).toBe(200)
  expect(answer.headers['x-served-to']).toBe('bob')
  expect(answer.headers).not.toHaveProperty('x-powered-by')
  const { headers = {} } = backend.requests.at(-1) ?? {}
  expect([headers['x-user'], headers['x-groups'], headers['x-debug']]).toEqual([
    'bob',
    'a b',
    undefined,
  ])
})

// Files that take long to read or cannot be read, beside files that are served: nothing waits for them.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { type Backend, startBackend } from '../support/backend.js'
import { send } from '../support/http.js'
import { gateway, httpRoute, proxyBackend, proxyPolicy, rule } from '../support/resources.js'
import { type Stack, startStack } from '../support/stack.js'
import { keySet, newKey } from '../support/tokens.js'

const key = await newKey('k1')
let backend: Backend
let stack: Stack

beforeAll(async () => {
  backend = await startBackend()
  const jwks = { inline: JSON.stringify(keySet(key)) }
  stack = await startStack({
    resources: (port) => [
      gateway([port]),
      proxyBackend('backend', backend),
      httpRoute('mcp', { rules: [rule('/mcp', 'backend')] }),
      proxyPolicy('mcp', 'mcp', {
        jwtAuthentication: { providers: [{ issuer: 'https://idp.example', jwks }] },
      }),
    ],
  })
})

afterAll(async () => {
  await stack.close()
  await backend.close()
})

/** Requests a route that needs a token, which a check answers. */
const check = async (): Promise<number> => (await send(stack.origin, '/mcp')).status

const problemsOf = async (file: string): Promise<string> =>
  JSON.stringify((await stack.status()).filter(({ source }) => source.includes(file)))

test('60,000 keys in a map are a problem with file and line', async () => {
  const keys = Array.from({ length: 60_000 }, (_, i) => `  key-${String(i)}: v\n`)
  await stack.writeText('keys.yaml', `kind: Service\ndata:\n${keys.join('')}`)
  await eventually(async () => {
    expect(await check()).toBe(401)
    expect(await problemsOf('keys.yaml')).toMatch(/keys\.yaml:3.*more than 10000 keys/)
  })
})

test('checks are answered while a file of 2 MB is read', async () => {
  const values = Array.from({ length: 200_000 }, (_, i) => `  - v${String(i)}\n`)
  await stack.writeText('large.yaml', `kind: Unknown\ndata:\n${values.join('')}`)
  const began = performance.now()
  let longest = 0
  await eventually(async () => {
    const before = performance.now()
    expect(await check()).toBe(401)
    longest = Math.max(longest, performance.now() - before)
    expect(await problemsOf('large.yaml')).toContain('apiVersion')
  }, 50_000)
  // By comparison alone: how long either takes is the machine's affair.
  expect(longest).toBeLessThan((performance.now() - began) / 2)
})

// Keys that are not available yet, from the callers' point of view (decision 1); and keys in the policy itself.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { startDocumentServer } from '../support/document-server.js'
import {
  k1,
  k2,
  type KeySetStack,
  routeByKeys,
  startKeySetStack,
} from '../support/key-set-stack.js'
import { proxyBackend, remoteJwks } from '../support/resources.js'
import { keySet } from '../support/tokens.js'

let stack: KeySetStack

beforeAll(async () => {
  stack = await startKeySetStack()
})
afterAll(() => stack.close())

describe('late keys', () => {
  test('Strict 503 with Retry-After, and it clears itself', async () => {
    await stack.write('late.yaml', ...routeByKeys('late', stack.jwksAt('/late')))
    const message = `The key set http://${stack.idp.host}:${String(stack.idp.port)}/late is not available: HTTP 404`
    await eventually(async () => {
      const { Accepted, Attached } = await stack.conditionsOf('late')
      expect(Accepted?.slice(0, 2)).toEqual(['True', 'Valid'])
      expect(Attached).toEqual(['False', 'KeySetUnavailable', message])
    })
    await eventually(async () => expect(await stack.statusOf('late')).toBe(503))
    const answer = await stack.call('late', k1)
    expect([answer.status, answer.headers['retry-after']]).toEqual([503, '5'])
    expect(stack.backend.requests.filter(({ url }) => url === '/late')).toEqual([])
    stack.idp.serve('/late', keySet(k1))
    await eventually(async () => expect(await stack.statusOf('late', k1)).toBe(200))
    expect(await stack.statusOf('late')).toBe(401)
    expect((await stack.conditionsOf('late'))['Attached']?.[0]).toBe('True')
  })

  test('Optional: 503 to a token, without claims for none; Permissive passes both', async () => {
    const jwks = stack.jwksAt('/never')
    await stack.write('optional.yaml', ...routeByKeys('optional', jwks, 'Optional'))
    await stack.write('permissive.yaml', ...routeByKeys('permissive', jwks, 'Permissive'))
    await eventually(async () => expect(await stack.statusOf('permissive')).toBe(200))
    await eventually(async () => expect(await stack.statusOf('optional')).toBe(200))
    expect(await stack.statusOf('optional', k1)).toBe(503)
    expect(await stack.statusOf('permissive', k1)).toBe(200)
    expect((await stack.conditionsOf('optional'))['Attached']?.slice(0, 2)).toEqual([
      'False',
      'KeySetUnavailable',
    ])
  })

  test('a provider that is not there at all: 503, and it clears itself when it comes', async () => {
    const gone = await startDocumentServer()
    await gone.close()
    const jwks = remoteJwks('gone', gone.port, '/jwks')
    await stack.write('gone.yaml', proxyBackend('gone', gone), ...routeByKeys('gone', jwks))
    await eventually(async () =>
      expect((await stack.conditionsOf('gone'))['Attached']?.[2]).toContain('ECONNREFUSED'),
    )
    await eventually(async () => expect(await stack.statusOf('gone', k1)).toBe(503))
    const come = await startDocumentServer({ port: gone.port })
    come.serve('/jwks', keySet(k1))
    await eventually(async () => expect(await stack.statusOf('gone', k1)).toBe(200))
    await come.close()
    expect(await stack.statusOf('gone', k1)).toBe(200)
  })
})

test('inline keys', async () => {
  const jwks = { inline: JSON.stringify(keySet(k2)) }
  await stack.write('inline.yaml', ...routeByKeys('inline', jwks))
  await eventually(async () => expect(await stack.statusOf('inline', k2)).toBe(200))
  expect(await stack.statusOf('inline', k1)).toBe(401)
})

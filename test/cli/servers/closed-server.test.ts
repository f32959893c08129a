// The address that answers 503 to everything.

import { expect, test } from 'vitest'
import { startClosedServer } from '../../../src/cli/servers/closed-server.js'
import { freePort } from '../../../testing/ports.js'
import { send } from '../../support/http.js'

test.each([
  ['GET', '/'],
  ['POST', '/mcp'],
  ['OPTIONS', '/.well-known/oauth-protected-resource/mcp'],
  ['DELETE', '/healthz'],
])('%s %s is 503', async (method, path) => {
  const port = await freePort()
  const server = await startClosedServer({ type: 'tcp', host: '127.0.0.1', port })
  const body = method === 'POST' ? { body: 'x'.repeat(1 << 20) } : {}
  const answer = await send(`http://127.0.0.1:${String(port)}`, path, { method, ...body })
  expect(answer).toMatchObject({
    status: 503,
    body: '{"error":"temporarily_unavailable","error_description":"Nothing is served here"}',
  })
  await server.close()
})

test('an address that is taken is an error', async () => {
  const address = { type: 'tcp', host: '127.0.0.1', port: await freePort() } as const
  const server = await startClosedServer(address)
  await expect(startClosedServer(address)).rejects.toThrow('EADDRINUSE')
  await server.close()
})

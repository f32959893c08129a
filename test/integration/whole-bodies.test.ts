// Bodies that are held, checked, and then shown to a webhook, each by another filter of one Envoy: however they are cut,
// the server gets all of each, and the check reads all of it.

import { type ClientHttp2Session, connect } from 'node:http2'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { both, hook } from '../support/guardrails.js'
import { guardedMcp, type McpGuardStack, startMcpGuardStack } from '../support/mcp-guards.js'
import { allow, proxyPolicy } from '../support/resources.js'

let stack: McpGuardStack
let session: ClientHttp2Session

beforeAll(async () => {
  const rules = { authorization: allow('mcp.tool.arguments.last == "end"') }
  stack = await startMcpGuardStack(() => [
    ...guardedMcp('/guarded', 'raw', both(hook('guard'))),
    proxyPolicy('guarded', 'guarded', rules),
    ...guardedMcp('/plain', 'raw', {}),
    proxyPolicy('plain', 'plain', rules),
  ])
  session = connect(stack.origin)
})
afterAll(async () => {
  session.destroy()
  await stack.close()
})
beforeEach(() => stack.reset())

const call = (length: number, last = 'end'): string =>
  JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'add', arguments: { text: 'x'.repeat(length), last } },
  })

/** Sends a body over HTTP/2 in pieces of this size, without its length, and with trailers if asked. */
function inPieces(path: string, body: string, size: number, hasTrailers: boolean): Promise<number> {
  const stream = session.request(
    { ':method': 'POST', ':path': path, 'content-type': 'application/json' },
    { endStream: false, waitForTrailers: hasTrailers },
  )
  const status = new Promise<number>((resolve, reject) => {
    stream.on('response', (fields) => resolve(Number(fields[':status'])))
    stream.on('error', reject)
  })
  stream.on('data', () => undefined)
  if (hasTrailers) stream.on('wantTrailers', () => stream.sendTrailers({ 'x-after': 'it' }))
  for (let from = 0; from < body.length; from += size) stream.write(body.slice(from, from + size))
  stream.end()
  return status
}

const SIZES = [1, 65_000, 65_536, 200_000, 1_000_000]

describe.each(['/plain', '/guarded'])('%s', (path) => {
  test.each(SIZES)('%i bytes, with and without their length', async (length) => {
    const body = call(length)
    const chunked = { 'transfer-encoding': 'chunked' }
    expect((await stack.post(path, body)).status).toBe(200)
    expect((await stack.post(path, body, chunked)).status).toBe(200)
    expect(stack.server.requests.map((request) => request.body === body)).toEqual([true, true])
    expect((await stack.post(path, call(length, 'other'))).status).toBe(403)
    expect(stack.server.requests).toHaveLength(2)
  })

  test.each(SIZES)('%i bytes in pieces, with and without trailers', async (length) => {
    const body = call(length)
    for (const size of [16_000, 65_536, 1_000_000])
      for (const hasTrailers of [false, true])
        expect(await inPieces(path, body, size, hasTrailers)).toBe(200)
    const { requests } = stack.server
    expect(requests.map((request) => request.body === body)).toEqual(Array(6).fill(true))
  })
})

// Pages of other origins: they can read every answer about an MCP path, and send preflights without a token.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Answer, bearer, initialize, send } from '../support/http.js'
import { AS, FULL_ROW, type McpStack, PAGE, PRM, startMcpStack } from '../support/mcp-stack.js'
import { signToken } from '../support/tokens.js'

let stack: McpStack

beforeAll(async () => {
  stack = await startMcpStack({
    '/one': FULL_ROW,
    '/as-written': { ...FULL_ROW, corsHeaders: 'AsWritten' },
    '/no-provider': { ...FULL_ROW, down: true },
  })
})
afterAll(() => stack.close())
beforeEach(() => stack.reset())

describe('CORS', () => {
  const preflight = (path: string, headers: string): Promise<Answer> =>
    send(stack.origin, path, {
      method: 'OPTIONS',
      headers: {
        origin: PAGE,
        'access-control-request-method': 'POST',
        'access-control-request-headers': headers,
      },
    })

  test.each(['/one', `${PRM}/one`, `${AS}/one`, `${AS}/one/client-registration`, '/no-provider'])(
    'a preflight of %s is answered before anything else',
    async (path) => {
      const answer = await preflight(path, 'authorization,mcp-session-id,mcp-protocol-version')
      expect(answer.status).toBeLessThan(300)
      expect(answer.headers['access-control-allow-origin']).toBe(PAGE)
      expect(answer.headers['access-control-max-age']).toBe('86400')
      const allowed = answer.headers['access-control-allow-headers']?.toLowerCase() ?? ''
      for (const name of [
        'authorization',
        'content-type',
        'mcp-session-id',
        'mcp-protocol-version',
      ])
        expect(allowed).toContain(name)
      expect(stack.backend.requests).toEqual([])
    },
  )

  test('AsWritten adds nothing to the CORS of the route', async () => {
    const { headers } = await preflight('/as-written', 'authorization')
    expect(headers['access-control-allow-headers']?.toLowerCase()).not.toContain('mcp-session-id')
  })

  test.each([
    ['POST', '/one', 401],
    ['GET', `${PRM}/one`, 200],
    ['GET', `${AS}/one`, 200],
    ['GET', `${AS}/no-provider`, 503],
    ['DELETE', `${AS}/one`, 405],
    ['GET', `${AS}/one/x`, 404],
  ])('%s %s (%i) can be read by a page', async (method, path, status) => {
    const answer = await send(stack.origin, path, { method, headers: { origin: PAGE } })
    expect(answer.status).toBe(status)
    expect(answer.headers['access-control-allow-origin']).toBe(PAGE)
    expect(answer.headers['access-control-expose-headers']).toContain('WWW-Authenticate')
  })

  test("replaces the backend's own headers, never doubles them", async () => {
    stack.backend.answer((_request, response) => {
      response.writeHead(200, {
        'access-control-allow-origin': '*',
        'access-control-allow-methods': 'TRACE',
        'access-control-expose-headers': 'X-Backend',
      })
      response.end()
    })
    const claims = { iss: stack.issuerOf(FULL_ROW), aud: 'api' }
    const headers = { origin: PAGE, ...bearer(await signToken({ key: stack.key, claims })) }
    const answer = await send(stack.origin, '/one', { ...initialize, headers })
    expect(answer.status).toBe(200)
    const names = answer.rawHeaders.filter((_, index) => index % 2 === 0)
    expect(names.filter((name) => name === 'access-control-allow-origin')).toHaveLength(1)
    expect(answer.headers['access-control-allow-origin']).toBe(PAGE)
    expect(answer.headers['access-control-allow-methods']).toBeUndefined()
    expect(answer.headers['access-control-expose-headers']).not.toContain('X-Backend')
  })
})

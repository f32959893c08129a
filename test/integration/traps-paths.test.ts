// Paths and methods that servers interpret differently: none gets past the protected route.

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { rawRequest } from '../support/raw-request.js'
import { startTrap, type Trap } from '../support/trap.js'

let trap: Trap

beforeAll(async () => {
  trap = await startTrap()
})
afterAll(() => trap.close())
afterEach(() => trap.forget())

describe('paths', () => {
  test.each([
    ['/mcp', 401],
    ['/mcp/', 401],
    ['/mcp?x=/open', 401],
    ['/mcp/x', 401],
    ['/open/../mcp', 401],
    ['/./mcp', 401],
    ['/mcp/.', 401],
    ['//mcp', 401],
    ['///mcp///x', 401],
    ['/%6dcp', 401],
    ['/%6D%63%70', 401],
    ['/x/%2e%2e/mcp', 401],
    ['/x/.%2E/mcp', 401],
    ['/mcp;a=b', 400],
    ['/mcp/x;y', 400],
    ['/mcp%2f..', 400],
    ['/mcp%2Fx', 400],
    ['/mcp%5cx', 400],
    ['/x%2f..%2fmcp', 400],
    ['/mcp#x', 400],
  ])('%s is refused with %i', async (path, expected) => {
    expect((await trap.get(path)).status).toBe(expected)
    expect(trap.reached()).toEqual([])
  })

  test.each([
    '/..;/mcp',
    '/x/..;/mcp',
    '/x/..;a=b/mcp',
    '/;/mcp',
    '/;x=y/mcp',
    '/.;/mcp',
    '\\mcp',
    '/\\mcp',
    '/x\\..\\mcp',
    '/x/..\\mcp',
    '/%252e%252e/mcp',
    '/x/%252e%252e/mcp',
    '/%256dcp',
    '/mcp%00',
    '/%00/../mcp',
    '/mcp%0a',
    '/mcp%20',
    '/x/%2e%2e;/mcp',
    '/x/..%00/mcp',
    '/x/..%5cmcp',
    '/%2fmcp',
    '/%2f%2e%2e%2fmcp',
    '/MCP',
    '/mcp%3bx',
    '/%2e/mcp',
    '/x/%c0%ae%c0%ae/mcp',
    '/..%c0%afmcp',
    '/mcp\u00a0',
    '/mcp%ff',
    '/\tmcp',
    '/mcp\x01',
    '/x/../../mcp',
    '*',
    'mcp',
    '?/mcp',
  ])('%j does not reach the protected path', async (path) => {
    const { status } = await trap.get(path)
    expect(status).not.toBe(500)
    trap.expectNoWayIn()
  })

  test('/mcpfoo is another path', async () => {
    expect((await trap.get('/mcpfoo')).status).toBe(200)
    expect(trap.reached().map(({ url }) => url)).toEqual(['/mcpfoo'])
  })

  test('what leads away from the protected path does not need a token', async () => {
    expect((await trap.get('/mcp/../open')).status).toBe(200)
    expect(trap.reached().map(({ url }) => url)).toEqual(['/open'])
  })

  test('a raw NUL, space or line end in the request line', async () => {
    for (const path of ['/mcp\0', '/\0mcp', '/mcp x', '/open HTTP/1.1\nX: y', '/open\r/mcp'])
      await trap.get(path)
    trap.expectNoWayIn()
  })

  test('an absolute-form request target', async () => {
    const target = (path: string) =>
      rawRequest(
        trap.stack.origin,
        `GET http://other.example${path} HTTP/1.1`,
        'Host: gateway.example',
      )
    expect((await target('/mcp')).status).toBe(401)
    expect((await target('/x/../mcp')).status).toBe(401)
    expect((await target('//mcp')).status).toBe(401)
    expect((await target('/open')).status).toBe(200)
    expect(trap.reached().map(({ url }) => url)).toEqual(['/open'])
  })

  test.each(['/mcp', '/mcp/x', '/open', 'gateway.example:443', '*'])(
    'CONNECT %s opens nothing',
    async (target) => {
      const { status } = await rawRequest(
        trap.stack.origin,
        `CONNECT ${target} HTTP/1.1`,
        'Host: gateway.example',
      )
      expect(status).toBeGreaterThanOrEqual(400)
      expect(trap.reached()).toEqual([])
      expect((await trap.get('/mcp')).status).toBe(401)
    },
  )

  test.each([
    ['GET', 'websocket'],
    ['POST', 'websocket'],
    ['GET', 'h2c'],
    ['GET', 'TLS/1.0'],
    ['GET', 'connect-udp'],
  ])(
    '%s with an upgrade to %s opens nothing, with or without a token',
    async (method, protocol) => {
      const lines = [
        'Connection: Upgrade, HTTP2-Settings',
        `Upgrade: ${protocol}`,
        'HTTP2-Settings: AAAA',
        'Content-Length: 0',
      ]
      const onMcp = (...more: readonly string[]) =>
        rawRequest(
          trap.stack.origin,
          `${method} /mcp HTTP/1.1`,
          'Host: gateway.example',
          ...lines,
          ...more,
        )
      expect((await onMcp(`Authorization: Bearer ${trap.token}`)).status).not.toBe(101)
      expect(trap.backend.requests.splice(0).filter(({ headers }) => 'upgrade' in headers)).toEqual(
        [],
      )
      expect((await onMcp()).status).not.toBe(101)
      const open = await rawRequest(
        trap.stack.origin,
        `${method} /open HTTP/1.1`,
        'Host: gateway.example',
        ...lines,
      )
      expect(open.status).not.toBe(101)
      trap.expectNoWayIn()
    },
  )

  test.each(['OPTIONS', 'HEAD', 'TRACE', 'PUT', 'PROPFIND', 'get', 'X'])(
    '%s needs a token too',
    async (method) => {
      const { status } = await rawRequest(
        trap.stack.origin,
        `${method} /mcp HTTP/1.1`,
        'Host: gateway.example',
        'Content-Length: 0',
      )
      expect([400, 401]).toContain(status)
      expect(trap.reached()).toEqual([])
    },
  )
})

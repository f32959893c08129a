// Framing and HTTP/2 that servers interpret differently: nothing gets past the protected route.

import { once } from 'node:events'
import { connect as connectHttp2, type IncomingHttpHeaders } from 'node:http2'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { bearer } from '../support/http.js'
import { rawRequest } from '../support/raw-request.js'
import { startTrap, type Trap } from '../support/trap.js'

let trap: Trap

beforeAll(async () => {
  trap = await startTrap()
})
afterAll(() => trap.close())
afterEach(() => trap.forget())

describe('framing', () => {
  test.each([
    ['both lengths', ['Content-Length: 4', 'Transfer-Encoding: chunked']],
    ['two lengths', ['Content-Length: 4', 'Content-Length: 5']],
    ['an odd encoding', ['Transfer-Encoding: xchunked']],
    ['a folded header', ['X-A: b', ' c: d']],
    ['a space before the colon', ['Content-Length : 4']],
  ])('%s smuggles nothing in', async (_what, lines) => {
    await rawRequest(
      trap.stack.origin,
      'POST /open HTTP/1.1',
      'Host: gateway.example',
      ...lines,
      '',
      '0',
      '',
      'GET /mcp HTTP/1.1',
      'Host: gateway.example',
    )
    trap.expectNoWayIn()
  })

  test('two Host headers are refused', async () => {
    for (const path of ['/mcp', '/open'])
      expect((await trap.get(path, 'Host: other.example')).status).toBe(400)
    expect(trap.reached()).toEqual([])
  })

  test('no Host is refused', async () => {
    expect((await rawRequest(trap.stack.origin, 'GET /mcp HTTP/1.1')).status).toBe(400)
  })
})

describe('HTTP/2', () => {
  async function http2(headers: Record<string, string>): Promise<IncomingHttpHeaders> {
    const session = connectHttp2(trap.stack.origin)
    session.on('error', () => undefined)
    try {
      const stream = session.request(headers)
      stream.end()
      const [answer] = (await Promise.race([
        once(stream, 'response'),
        once(stream, 'close').then(() => [{}]),
      ])) as [IncomingHttpHeaders]
      return answer
    } finally {
      session.destroy()
    }
  }

  test('is checked like HTTP/1.1', async () => {
    const plain = { ':authority': 'gateway.example', ':path': '/mcp' }
    expect((await http2(plain))[':status']).toBe(401)
    expect((await http2({ ...plain, ...bearer(trap.token) }))[':status']).toBe(200)
    expect(trap.reached()).toHaveLength(1)
  })

  test.each([
    '/mcp;x',
    '/x/../mcp',
    '//mcp',
    '/%6dcp',
    '/x/..;/mcp',
    '/mcp%2f..',
    '\\mcp',
    'mcp',
    '/mcp?x',
    '/mcp#x',
    '*',
    '',
  ])('path %j lets no request in', async (path) => {
    await http2({ ':authority': 'gateway.example', ':path': path })
    trap.expectNoWayIn()
  })

  test('a host beside :authority does not count', async () => {
    const answer = await http2({
      ':authority': 'gateway.example',
      ':path': '/mcp',
      host: 'evil.example',
    })
    expect([400, 401]).toContain(answer[':status'])
    expect(answer['www-authenticate'] ?? '').not.toContain('evil')
  })

  test.each<Record<string, string>>([
    { ':authority': 'a"b' },
    { ':authority': 'user@evil.example' },
    { ':scheme': 'javascript' },
    { ':scheme': 'https' },
  ])('%j is not repeated', async (headers) => {
    const answer = await http2({ ':authority': 'gateway.example', ':path': '/mcp', ...headers })
    expect(answer['www-authenticate'] ?? 'Bearer').toMatch(
      /^Bearer( resource_metadata="http:\/\/gateway\.example\/\.well-known\/oauth-protected-resource\/mcp")?$/,
    )
  })

  test('an extended CONNECT opens nothing', async () => {
    const answer = await http2({ ':method': 'CONNECT', ':authority': 'gateway.example' })
    expect(answer[':status'] ?? 400).toBeGreaterThanOrEqual(400)
    expect(trap.reached()).toEqual([])
  })
})

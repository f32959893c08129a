// Servers that read JSON otherwise than Gatehouse does: names in any case (Go's encoding/json), texts up to a NUL (C), ids
// as whole numbers (the Go SDK of MCP). What they execute, and what they list, is what the rules allow.

import type { ServerResponse } from 'node:http'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Backend, type Recorded, startBackend } from '../support/backend.js'
import { bearer, send } from '../support/http.js'
import { provider, sign } from '../support/protected-stack.js'
import { gateway, mcpRoute, proxyBackend, proxyPolicy } from '../support/resources.js'
import { type Stack, startStack } from '../support/stack.js'
import { newKey } from '../support/tokens.js'

const key = await newKey('k1')

let backend: Backend
let stack: Stack
let token: string
/** "TOOL PATH" of each call that the server has executed. */
let executed: string[]

beforeAll(async () => {
  backend = await startBackend()
  backend.answer(serve)
  token = await sign(key, { aud: 'api' })
  const own = (name: string, action: string, ...matchExpressions: string[]): readonly object[] => [
    mcpRoute(name, 'backend', `/${name}`),
    proxyPolicy(name, name, {
      jwtAuthentication: {
        providers: [provider([key], { audiences: ['api'] })],
        mcp: { clientId: 'client', filterLists: true },
      },
      authorization: { action, policy: { matchExpressions } },
    }),
  ]
  stack = await startStack({
    resources: (port) => [
      gateway([port]),
      proxyBackend('backend', backend),
      ...own(
        'deny',
        'Deny',
        'mcp.tool.name == "forbidden"',
        'has(mcp.tool.arguments.path) && mcp.tool.arguments.path.startsWith("/etc/")',
      ),
      ...own(
        'allow',
        'Allow',
        'mcp.method != "tools/call"',
        'mcp.tool.name == "open" && mcp.tool.arguments.path.startsWith("/tmp/")',
      ),
    ],
  })
})
afterAll(async () => {
  await stack.close()
  await backend.close()
})
beforeEach(() => (executed = []))

/** A server that finds members by their names in any case, up to a NUL; the last of several counts. */
function serve({ body }: Recorded, response: ServerResponse): void {
  const read = (object: unknown, name: string): unknown =>
    Object.entries(object as object)
      .filter(([each]) => plain(each) === name)
      .at(-1)?.[1]
  const message = JSON.parse(body) as unknown
  const method = plain(read(message, 'method'))
  const params = read(message, 'params') ?? {}
  const path = plain(read(read(params, 'arguments') ?? {}, 'path') ?? '')
  if (method === 'tools/call') executed.push(`${plain(read(params, 'name'))} ${path}`)
  const tools = ['forbidden', 'open'].map((name) => ({ name }))
  const id = wholeId(read(message, 'id'))
  const answer = { jsonrpc: '2.0', id, result: method === 'tools/list' ? { tools } : {} }
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
}

/** A text in lower case, up to a NUL. */
const plain = (text: unknown): string => String(text).split('\0', 1)[0]?.toLowerCase() ?? ''
/** Fractions are dropped, a number beyond 64 bits overflows, and half a character becomes a whole one. */
const wholeId = (id: unknown): unknown =>
  typeof id === 'number'
    ? Number(BigInt.asIntN(64, BigInt(Math.trunc(id))))
    : plain(String(id).replace(/\p{Surrogate}/gu, '\ufffd'))

const post = (path: string, body: string) =>
  send(stack.origin, path, {
    method: 'POST',
    headers: { ...bearer(token), 'content-type': 'application/json' },
    body,
  })

const call = (name: string, more = '"path":"/tmp/a"'): string =>
  `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${name}","arguments":{${more}}}}`

test('what the rules allow is executed', async () => {
  for (const path of ['/deny', '/allow']) expect((await post(path, call('open'))).status).toBe(200)
  const others = call('open', '"path":"/tmp/b","map":{"X":1,"x":2},"Other":3')
  for (const path of ['/deny', '/allow']) expect((await post(path, others)).status).toBe(200)
  expect(executed).toEqual(['open /tmp/a', 'open /tmp/a', 'open /tmp/b', 'open /tmp/b'])
})

describe('not executed', () => {
  test.each([
    ['an argument in another case, which a rule reads', call('open', '"Path":"/etc/x"')],
    ['beside the one', call('open', '"path":"/tmp/a","Path":"/etc/x"')],
    ['before the one', call('open', '"PATH":"/etc/x","path":"/tmp/a"')],
    ['once in letters that are escaped', call('open', '"path":"/tmp/a","p\\u0041TH":"/etc/x"')],
    ['an argument whose name has a NUL', call('open', '"path":"/tmp/a","path\\u0000":"/etc/x"')],
    ['a tool whose name has a NUL', call('forbidden\\u0000', '"path":"/tmp/a"')],
    ['a method whose name has a NUL', call('forbidden').replace('tools/call', 'tools/call\\u0000')],
    [
      'a member whose name has a NUL',
      call('forbidden').replace('"method"', '"method":"ping","method\\u0000"'),
    ],
  ])('%s', async (_what, body) => {
    for (const path of ['/deny', '/allow']) {
      const { status } = await post(path, body)
      expect([200, 400, 403]).toContain(status)
    }
    expect(executed.filter((each) => /^forbidden |\/etc/.test(each))).toEqual([])
  })
})

describe('a list', () => {
  const shown = async (id: string): Promise<string> => {
    const { body } = await post('/deny', `{"jsonrpc":"2.0","id":${id},"method":"tools/list"}`)
    return body
  }

  test.each(['1', '"a"', '9007199254740993', '-7', '1.0'])('with the id %s', async (id) => {
    const body = await shown(id)
    expect([body.includes('open'), body.includes('forbidden')]).toEqual([true, false])
  })

  test.each(['1.5', '-0.5', '1e300', '9223372036854775807', '"a\\ud800"', '"a\\u0000"'])(
    'with the id %s, which a server may change, is not shown as it is',
    async (id) => {
      expect(await shown(id)).not.toContain('forbidden')
    },
  )
})

// No body bypasses a Deny on a tool: what official MCP servers would execute is not executed behind Envoy and the
// check.

import { connect } from 'node:net'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { gateway, httpRoute, proxyBackend, proxyPolicy, rule } from '../support/resources.js'
import { runs } from '../support/runs.js'
import { type Stack, startStack } from '../support/stack.js'
import { type Attack, attacks } from '../support/tool-attacks.js'
import { startPythonTools, startTypeScriptTools, type ToolServer } from '../support/tool-servers.js'

let servers: Readonly<Record<'typescript' | 'python', ToolServer>>
let stack: Stack

beforeAll(async () => {
  const [typescript, python] = await Promise.all([startTypeScriptTools(), startPythonTools()])
  servers = { typescript, python }
  stack = await startStack({
    resources: (port) => [
      gateway([port]),
      proxyBackend('typescript', typescript),
      proxyBackend('python', python),
      httpRoute('mcp', {
        rules: [
          rule('/typescript', 'typescript', { filters: [toMcp] }),
          rule('/python', 'python', { filters: [toMcp] }),
        ],
      }),
      proxyPolicy('mcp', 'mcp', {
        authorization: {
          action: 'Deny',
          policy: { matchExpressions: ['mcp.tool.name == "forbidden"'] },
        },
      }),
    ],
  })
})

const toMcp = {
  type: 'URLRewrite',
  urlRewrite: { path: { type: 'ReplaceFullPath', replaceFullPath: '/mcp' } },
}

afterAll(async () => {
  await stack.close()
  await Promise.all(Object.values(servers).map((server) => server.close()))
})

function bytesOf({ method, headers, body, chunk }: Attack, path: string, port: number): Buffer {
  const lines = [`${method} ${path} HTTP/1.1`, `Host: 127.0.0.1:${String(port)}`]
  for (let i = 0; i < headers.length; i += 2)
    lines.push(`${headers[i] ?? ''}: ${headers[i + 1] ?? ''}`)
  if (!headers.includes('connection')) lines.push('connection: close')
  lines.push(chunk === 0 ? `content-length: ${String(body.length)}` : 'transfer-encoding: chunked')
  const head = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1')
  if (chunk === 0) return Buffer.concat([head, body])
  const pieces: Buffer[] = [head]
  for (let at = 0; at < body.length; at += chunk) {
    const piece = body.subarray(at, at + chunk)
    pieces.push(Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n'))
  }
  return Buffer.concat([...pieces, Buffer.from('0\r\n\r\n')])
}

/** The status of the final answer; 0: the connection was closed without one. */
function status(port: number, request: Buffer): Promise<number> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    let received = ''
    const finish = (): void => {
      socket.destroy()
      resolve(Number(/(?:^|\r\n\r\n)HTTP\/1\.1 ([2-5]\d\d)/.exec(received)?.[1] ?? 0))
    }
    socket.setEncoding('latin1').on('data', (text: string) => {
      received += text
      if (/HTTP\/1\.1 [2-5]\d\d[\s\S]*\r\n\r\n/.test(received)) finish()
    })
    socket.on('error', finish).on('close', finish)
    socket.write(request)
  })
}

function allowedCall(): Attack {
  const call = {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'allowed', arguments: {} },
  }
  const accept = 'application/json, text/event-stream'
  const headers = ['content-type', 'application/json', 'accept', accept]
  return { method: 'POST', headers, body: Buffer.from(JSON.stringify(call)), chunk: 0 }
}

describe.each(['typescript', 'python'] as const)('the %s SDK', (sdk) => {
  const path = `/${sdk}`

  /** The tools that were executed, once everything sent before has been. */
  async function executed(): Promise<readonly string[]> {
    expect(await status(stack.port, bytesOf(allowedCall(), path, stack.port))).toBe(200)
    const names = servers[sdk].executed
    await expect.poll(() => names.at(-1), { timeout: 20_000 }).toBe('allowed')
    return names.splice(0)
  }

  test('would execute many of these requests', async () => {
    const { port } = servers[sdk]
    for (const attack of fc.sample(attacks, { numRuns: 300, seed: 1 }))
      await status(port, bytesOf(attack, '/mcp', port))
    expect((await executed()).filter((name) => name === 'forbidden').length).toBeGreaterThan(10)
  })

  test('executes none of them behind the gateway', async () => {
    await fc.assert(
      fc.asyncProperty(attacks, async (attack) => {
        const answered = await status(stack.port, bytesOf(attack, path, stack.port))
        expect(answered).not.toBe(500)
        expect(servers[sdk].executed).not.toContain('forbidden')
      }),
      { numRuns: runs(1_000) },
    )
    expect(await executed()).not.toContain('forbidden')
  })
})

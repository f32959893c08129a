// How `gatehouse run` ends: on a signal, and when it cannot start.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { envoyPath } from '../support/envoy.js'
import { bearer, initialize, send } from '../support/http.js'
import { type McpParties, startMcpParties } from '../support/mcp-parties.js'
import type { Stack } from '../support/stack.js'

let parties: McpParties
let stack: Stack

beforeAll(async () => {
  parties = await startMcpParties()
  stack = await parties.run('"editors" in jwt.groups')
})
afterAll(async () => {
  await stack.close()
  await parties.close()
})

describe('the end', () => {
  /** A request that the backend has and does not answer yet. */
  async function underWay(at: Stack) {
    const headers = bearer(await parties.tokenOf('editors'))
    const arrived = new Promise<() => void>((arrive) => {
      parties.backend.answer((_request, response) => {
        arrive(() => response.end('late'))
      })
    })
    const answer = send(at.origin, '/mcp', { ...initialize, headers })
    return { answer, finish: await arrived }
  }

  const isGone = (at: Stack) => expect(fetch(`${at.envoyAdmin}/ready`)).rejects.toThrow()

  test('SIGTERM: the request under way finishes, new ones are refused, the exit code is 0 and no Envoy is left', async () => {
    const { answer, finish } = await underWay(stack)
    const stopped = stack.stop()
    await eventually(() => expect(send(stack.origin, '/mcp')).rejects.toThrow('ECONNREFUSED'))
    expect((await fetch(`${stack.admin}/readyz`)).status).toBe(503)
    finish()
    expect((await answer).body).toBe('late')
    expect(await stopped).toBe(0)
    await isGone(stack)
  })

  test('a second signal does not wait: the exit code is 1, and still no Envoy is left', async () => {
    const other = await parties.run('"editors" in jwt.groups', '--drain-timeout', '1h')
    const { answer } = await underWay(other)
    const failed = expect(answer).rejects.toThrow()
    other.child.kill('SIGINT')
    await eventually(() => expect(other.log()).toContain('draining'))
    expect(await other.stop('SIGINT')).toBe(1)
    await failed
    await eventually(() => isGone(other))
    await other.close()
  })
})

describe('reports the error in one sentence and ends with 1', () => {
  const main = resolve(import.meta.dirname, '../../dist/main.js')
  const runWith = async (...flags: readonly string[]) => {
    const args = [main, 'run', '--resources', 'config/demo', '--log-level', 'silent', ...flags]
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
    const ended = once(child, 'close')
    const stderr = await text(child.stderr)
    await ended
    return { code: child.exitCode, stderr }
  }

  test('the admin address is taken', async () => {
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const { port } = taken.address() as { port: number }
    const address = `127.0.0.1:${String(port)}`
    const { code, stderr } = await runWith('--admin', address)
    taken.close()
    expect([code, stderr]).toEqual([
      1,
      `gatehouse: ${address} is in use by another process: stop it, or choose another address with --admin or --grpc\n`,
    ])
  })

  test("Envoy's admin address is taken", async () => {
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const { port } = taken.address() as { port: number }
    const address = `127.0.0.1:${String(port)}`
    const { code, stderr } = await runWith(
      '--admin',
      '127.0.0.1:0',
      '--envoy',
      envoyPath(),
      '--envoy-admin',
      address,
    )
    taken.close()
    expect([code, stderr]).toEqual([
      1,
      `gatehouse: Envoy cannot listen on ${address}, which is in use by another process: stop it, or choose another address with --envoy-admin\n`,
    ])
  })

  test('there is no such Envoy', async () => {
    const { code, stderr } = await runWith('--admin', '127.0.0.1:0', '--envoy', '/nonexistent')
    expect(code).toBe(1)
    expect(stderr).toMatch(/^gatehouse: \/nonexistent cannot be run: .*\n$/)
  })
})

// The MCP conformance suite: as an authorization server the gateway passes, and as an MCP server it changes nothing.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { visit } from '../../src/demo/idp/headless-login.js'
import { asUser, type UserAgent } from '../support/clients/client-run.js'
import { CLIENT_ID } from '../support/identity-provider.js'
import { freePort } from '../support/ports.js'
import { registerAt } from '../support/relay-login.js'
import { consenting } from '../support/relay-stack.js'
import { type ChildProgram, startProgram } from './support/child-program.js'
import { startInjectingProxy } from './support/injecting-proxy.js'
import { type McpStack, startMcpStack } from './support/mcp-stack.js'
import { program } from './support/tools.js'

const SUITE = program('@modelcontextprotocol/conformance', 'dist/index.js')

let world: McpStack

beforeAll(async () => {
  world = await startMcpStack()
})

afterAll(() => world.close())

const run = (...args: readonly string[]): ChildProgram =>
  startProgram(process.execPath, [SUITE, ...args], { env: { NO_COLOR: '1' } })

describe('mode authorization', () => {
  /** The exit code and the last line. */
  async function authorize(
    client = CLIENT_ID,
    agent: UserAgent = visit,
  ): Promise<readonly [number | null, string]> {
    const port = String(await freePort())
    const { url } = world
    const suite = run(
      ...['authorization', '--url', url, '--resource', url],
      ...['--client-id', client, '-p', port],
    )
    try {
      const ended = suite.ended()
      await Promise.race([ended, logInAtPrintedUrl(suite, agent)])
      return [await ended, totalOf(suite)]
    } finally {
      await suite.stop()
    }
  }

  /** It prints where a person is to log in, and listens for the answer. */
  async function logInAtPrintedUrl(suite: ChildProgram, agent: UserAgent): Promise<void> {
    const [address] = await suite.seen(/http:\/\/\S+code_challenge=\S+/)
    await fetch(await agent(asUser(new URL(address), 'alice')))
  }

  test('passes with metadataIssuer Gateway', async () => {
    expect(await authorize()).toEqual([0, 'Total: 2 passed, 0 failed'])
  })

  test('passes with authorizationServer Relay', async () => {
    await world.reconfigure({ authorizationServer: 'Relay' })
    try {
      const client = await registerAt(world.stack.origin, 'http://127.0.0.1:1/callback')
      expect(await authorize(client, consenting)).toEqual([0, 'Total: 2 passed, 0 failed'])
    } finally {
      await world.reconfigure({})
    }
  })

  test('fails with metadataIssuer Provider, as the issuer is not where the metadata is', async () => {
    await world.reconfigure({ metadataIssuer: 'Provider' })
    try {
      const [code, total] = await authorize()
      expect(code).not.toBe(0)
      expect(total).toMatch(/[12] failed/)
    } finally {
      await world.reconfigure({})
    }
  })
})

describe('mode server', () => {
  /** One line a scenario: what passed and what failed. */
  async function scenarios(url: string): Promise<readonly string[]> {
    const suite = run('server', '--url', url)
    await suite.ended()
    const lines = suite.output().match(/^[✓✗] .*$/gm) ?? []
    return [...lines, totalOf(suite)]
  }

  test('gives through the gateway what it gives without it', async () => {
    const token = await world.idp.token('alice', world.url)
    const proxy = await startInjectingProxy(world.stack.origin, token)
    try {
      const direct = await scenarios(`http://127.0.0.1:${String(world.server.port)}/mcp`)
      const through = await scenarios(`${proxy.origin}/mcp`)
      expect(direct.length).toBeGreaterThan(20)
      expect(direct.join('\n')).toContain('✓ tools-list')
      expect(through).toEqual(direct)
    } finally {
      await proxy.close()
    }
  })
})

function totalOf(suite: ChildProgram): string {
  const lines = suite.output().match(/^Total: .*$/gm) ?? []
  return lines.at(-1) ?? suite.output()
}

// The MCP conformance suite: as an authorization server the gateway passes, and as an MCP server it changes nothing.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { visit } from '../../src/cli/demo/idp/headless-login.js'
import { freePort } from '../../testing/ports.js'
import { CLIENT_ID } from '../support/identity-provider.js'
import { authorizationScenarios, conformance, totalOf } from './support/conformance-suite.js'
import { startInjectingProxy } from './support/injecting-proxy.js'
import { type McpStack, startMcpStack } from './support/mcp-stack.js'

let world: McpStack

beforeAll(async () => {
  world = await startMcpStack()
})

afterAll(() => world.close())

describe('mode authorization', () => {
  const authorize = async (): ReturnType<typeof authorizationScenarios> =>
    authorizationScenarios({
      issuer: world.url,
      resource: world.url,
      client: CLIENT_ID,
      port: await freePort(),
      agent: visit,
    })

  test('passes with metadataIssuer Gateway', async () => {
    expect(await authorize()).toEqual([0, 'Total: 2 passed, 0 failed'])
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
    const suite = conformance('server', '--url', url)
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

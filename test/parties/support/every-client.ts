// Tests for a provider: every client logs in there, and at the gateway as a relay, and calls a tool.

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { Browser, Page } from 'playwright-core'
import { beforeEach, describe, expect, test } from 'vitest'
import { firstText, type McpClient } from '../../support/clients/client-run.js'
import { expectInMatrix, type MatrixProvider } from '../../support/clients/matrix.js'
import { python } from '../../support/clients/python.js'
import { ts1 } from '../../support/clients/ts1.js'
import { ts2 } from '../../support/clients/ts2.js'
import { registered, scenariosAndToken } from './conformance-suite.js'
import { inspect } from './inspector-web.js'
import { inBrowser, visitAnywhere } from './person.js'
import { MODES, type TwoModes } from './two-modes.js'

const CLIENTS = { ts1, ts2, python } satisfies Record<string, McpClient>
const NAMES = ['ts1', 'ts2', 'python'] as const

export interface World {
  readonly gateway: TwoModes
  readonly browser: Browser
}

/**
 * Defines the tests, whose outcomes docs/clients.md must show.
 * @param loginPage name of the button that is pressed on the provider's login page.
 * @param world returns the world at the time of a test.
 */
export function everyClientLogsIn(
  provider: MatrixProvider,
  loginPage: string,
  world: () => World,
): void {
  describe.each(MODES)('authorizationServer %s', (mode) => {
    const url = (): string => world().gateway.urlOf(mode)

    test.each(NAMES)('%s registers, logs in and calls a tool', async (name) => {
      const { tools, echo } = await CLIENTS[name](url(), 'alice', visitAnywhere)
      expect(tools).toContain('echo')
      expect(echo).toBe('Echo: hi')
      expectInMatrix(name, provider, mode)
    })

    test("the conformance suite's scenarios pass, and its token calls a tool", async () => {
      const { code, total, token } = await scenariosAndToken(await registered(url()))
      expect([code, total]).toEqual([0, 'Total: 2 passed, 0 failed'])
      expect(await echoWith(token, url())).toBe('Echo: hi')
      expectInMatrix('conformance', provider, mode)
    })

    test('the MCP Inspector registers, a person logs in, and it calls a tool', async () => {
      await inspect(page, url(), 'Hello through the gate')
      expectInMatrix('inspector', provider, mode)
    })

    test('a person in Chromium logs in', async () => {
      const pressed: string[] = []
      const { echo } = await ts2(url(), 'alice', inBrowser(page, pressed))
      expect(echo).toBe('Echo: hi')
      expect(pressed).toContain(loginPage)
      expectInMatrix('person', provider, mode)
    })
  })

  test('a person in Chromium is asked for consent by another client of the relay, and comes back at once, as the provider has a session', async () => {
    const [first, second]: [string[], string[]] = [[], []]
    for (const pressed of [first, second])
      await ts2(world().gateway.urlOf('Relay'), 'alice', inBrowser(page, pressed))
    expect([first, second]).toEqual([['decision', loginPage], ['decision']])
  })

  let page: Page
  beforeEach(async () => {
    const context = await world().browser.newContext({ viewport: { width: 1280, height: 800 } })
    page = await context.newPage()
    return () => context.close()
  })
}

export async function echoWith(token: string, url: string): Promise<string> {
  const client = new Client({ name: 'gatehouse-tests', version: '1' })
  const requestInit = { headers: { authorization: `Bearer ${token}` } }
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }))
  try {
    const { content } = await client.callTool({ name: 'echo', arguments: { message: 'hi' } })
    return firstText(content)
  } finally {
    await client.close()
  }
}

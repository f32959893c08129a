// Tests for a provider: every client logs in there, and at the gateway as a relay, and calls a tool.

import type { Browser, Page } from 'playwright-core'
import { beforeEach, describe, expect, test } from 'vitest'
import type { McpClient } from '../../support/clients/client-run.js'
import { python } from '../../support/clients/python.js'
import { ts1 } from '../../support/clients/ts1.js'
import { ts2 } from '../../support/clients/ts2.js'
import { authorizationScenarios, registered } from './conformance-suite.js'
import { inspect } from './inspector-web.js'
import { inBrowser, visitAnywhere } from './person.js'
import { MODES, type TwoModes } from './two-modes.js'

const CLIENTS: Record<string, McpClient> = { ts1, ts2, python }

export interface World {
  readonly gateway: TwoModes
  readonly browser: Browser
}

/**
 * Defines the tests.
 * @param loginPage name of the button that is pressed on the provider's login page.
 * @param world returns the world at the time of a test.
 */
export function everyClientLogsIn(loginPage: string, world: () => World): void {
  describe.each(MODES)('authorizationServer %s', (mode) => {
    const url = (): string => world().gateway.urlOf(mode)

    test.each(Object.entries(CLIENTS))('%s registers, logs in and calls a tool', async (_, run) => {
      const { tools, echo } = await run(url(), 'alice', visitAnywhere)
      expect(tools).toContain('echo')
      expect(echo).toBe('Echo: hi')
    })

    test("the conformance suite's scenarios pass", async () => {
      const outcome = await authorizationScenarios(await registered(url()))
      expect(outcome).toEqual([0, 'Total: 2 passed, 0 failed'])
    })

    test('the MCP Inspector registers, a person logs in, and it calls a tool', () =>
      inspect(page, url(), 'Hello through the gate'))

    test('a person in Chromium logs in', async () => {
      const pressed: string[] = []
      const { echo } = await ts2(url(), 'alice', inBrowser(page, pressed))
      expect(echo).toBe('Echo: hi')
      expect(pressed).toContain(loginPage)
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

// Tests for a provider: every client that implements it logs in again for a tool that needs another scope, at the
// provider and at the gateway as a relay.

import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CLIENT_METADATA } from '../../support/clients/client-run.js'
import { expectInStepUpTable, type MatrixProvider } from '../../support/clients/matrix.js'
import {
  expectStepUp,
  type KnownClient,
  STEP_UP_CLIENTS,
  STEP_UP_NAMES,
  SUM,
} from '../../support/clients/step-up.js'
import { registered, scenariosAndToken } from './conformance-suite.js'
import { echoWith } from './every-client.js'
import { inspect, stepUp } from './inspector-web.js'
import { visitAnywhere } from './person.js'
import { MODES, type ProviderUnderTest, startTwoModes, type TwoModes } from './two-modes.js'

export interface SteppedProvider extends Omit<ProviderUnderTest, 'requiredScopes' | 'scopes'> {
  /** The scope that every request needs, and those that the tool needs beside it. */
  readonly first: string
  readonly more: readonly string[]
  /** A client at the provider that may ask for all of them. */
  readonly known: KnownClient
}

/** Registers a client that may ask for these scopes. */
export async function registerAt(issuer: string, scope: string): Promise<KnownClient> {
  const discovery = await fetch(`${issuer}/.well-known/openid-configuration`)
  const { registration_endpoint: endpoint } = (await discovery.json()) as {
    registration_endpoint: string
  }
  const answer = await fetch(endpoint, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...CLIENT_METADATA, scope }),
  })
  return (await answer.json()) as KnownClient
}

/**
 * Defines the tests, whose outcomes docs/clients.md must show.
 * @param start returns the provider at the time of the tests, and prepares it for the relay's redirect URI.
 */
export function everyClientStepsUp(
  name: MatrixProvider,
  start: () => Promise<{
    readonly provider: SteppedProvider
    readonly prepare?: (redirectUri: string) => Promise<void>
  }>,
  browser: () => Browser,
): void {
  describe('a tool that needs another scope', () => {
    let provider: SteppedProvider
    let gateway: TwoModes

    beforeAll(async () => {
      const started = await start()
      provider = started.provider
      const { first, more } = provider
      gateway = await startTwoModes(
        {
          ...provider,
          scopes: [first, ...more],
          requiredScopes: [
            { scopes: [first] },
            { scopes: more, when: `mcp.tool.name == "${SUM.name}"` },
          ],
        },
        started.prepare,
      )
    })
    afterAll(() => gateway.close())

    test.each(MODES.flatMap((mode) => STEP_UP_NAMES.map((client) => [mode, client] as const)))(
      '%s: %s logs in again and calls it',
      async (mode, client) => {
        const { first, more, known } = provider
        await expectStepUp(
          STEP_UP_CLIENTS[client],
          {
            url: gateway.urlOf(mode),
            agent: visitAnywhere,
            known: mode === 'Provider' ? known : undefined,
          },
          [[first], [first, ...more]],
        )
        expectInStepUpTable(client, name, mode)
      },
    )

    test.each(MODES)(
      "%s: the conformance suite's scenarios pass, and its token calls a tool that needs no other scope",
      async (mode) => {
        const url = gateway.urlOf(mode)
        const { code, total, token } = await scenariosAndToken(await registered(url))
        expect([code, total]).toEqual([0, 'Total: 2 passed, 0 failed'])
        expect(await echoWith(token, url)).toBe('Echo: hi')
      },
    )

    test('Relay: with the MCP Inspector a person logs in again and calls it', async () => {
      const context = await browser().newContext({ viewport: { width: 1280, height: 800 } })
      try {
        const page = await context.newPage()
        await inspect(page, gateway.urlOf('Relay'), 'Hello', () => stepUp(page, provider.more))
        expectInStepUpTable('inspector', name, 'Relay')
      } finally {
        await context.close()
      }
    })

    test.each(STEP_UP_NAMES)(
      'Provider: %s, which registers for the scopes of the first challenge, is given no others',
      async (client) => {
        const { first, more } = provider
        const ends: URL[] = []
        const run = expectStepUp(
          STEP_UP_CLIENTS[client],
          {
            url: gateway.urlOf('Provider'),
            agent: async (authorization) => {
              const end = await visitAnywhere(authorization)
              ends.push(end)
              return end
            },
          },
          [[first], [first, ...more]],
        )
        await expect(run).rejects.toThrow()
        expect(ends.map(({ searchParams }) => searchParams.get('error'))).toEqual([
          null,
          'invalid_scope',
        ])
      },
    )
  })
}

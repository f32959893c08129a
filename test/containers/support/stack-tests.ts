// What holds for the stack of each compose file, as a team starts it: the tour's login and tool call, masked and blocked
// prompts, and shutdown on SIGTERM.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createPrint } from '../../../src/cli/demo/print.js'
import { takeTour } from '../../../src/cli/demo/tour.js'
import { eventually } from '../../../testing/eventually.js'
import { type ComposeStack, composeUp } from './compose.js'

const GATEWAY = 'http://127.0.0.1:8080'

const chat = (content: string): Promise<Response> =>
  fetch(`${GATEWAY}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'sample', messages: [{ role: 'user', content }] }),
  })

/** Declares the tests of the stack of a compose file. */
export function declareStackTests(file: string): void {
  describe(file, () => {
    let stack: ComposeStack

    beforeAll(async () => {
      stack = composeUp(file)
      await eventually(async () => {
        expect((await fetch(`${GATEWAY}/mcp`)).status).toBe(401)
      }, 60_000)
    })
    afterAll(() => stack.down())

    test('takes the tour: a login and a tool call, and a user who may not', async () => {
      const lines: string[] = []
      await takeTour(
        `${GATEWAY}/mcp`,
        createPrint((text) => lines.push(text), false),
      )
      expect(lines.join('')).toContain('Echo: hello through the gateway')
    })

    test('masks an address before the LLM sees it', async () => {
      const reply = await chat('I am bob@example.com.')
      expect(reply.status).toBe(200)
      const prompt = () => expect(stack.logs('llm')).toContain('the model got:')
      await eventually(prompt, 20_000)
      expect(stack.logs('llm')).not.toContain('bob@example.com')
    })

    test('blocks a prompt that the webhook rejects', async () => {
      const reply = await chat('The password is swordfish.')
      expect(reply.status).toBe(403)
      expect(stack.logs('llm')).not.toContain('swordfish')
    })

    test('ends by itself on a stop signal', () => {
      expect(stack.stop('gatehouse')).toBe(0)
      expect(stack.logs('gatehouse')).toContain('closed')
    })

    test('closes when Gatehouse is gone', async () => {
      expect((await fetch(`${GATEWAY}/mcp`)).status).toBe(503)
    })

    test('every service ends by itself on a stop signal', () => {
      const ended = stack.services().map((service) => [service, stack.stop(service)])
      expect(Object.fromEntries(ended)).toEqual({
        envoy: 0,
        gatehouse: 0,
        'guardrail-webhook': 0,
        'identity-provider': 0,
        llm: 0,
        'mcp-server': 0,
      })
    })
  })
}

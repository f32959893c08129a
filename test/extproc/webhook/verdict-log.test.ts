// Lines of verdicts: one that allows is a line of level debug alone, without a pass for secrets; others have one line.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { askWebhooks } from '../../../src/extproc/webhook/ask-webhooks.js'
import { createDecisionLog } from '../../../src/kit/decision-log.js'
import { OwnEnding } from '../../../src/kit/ending.js'
import type { LogMethods } from '../../../src/kit/logger.js'
import { guardrails, plainPools, webhook } from '../support/guards.js'

interface Line {
  readonly how: string
  readonly message: string
  readonly fields: object
}

/** Asks a webhook that answers this, and returns the lines of the logger and of the decision log. */
async function linesOf(answer: object): Promise<readonly Line[]> {
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.end(JSON.stringify(answer)))
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const pools = plainPools()
  onTestFinished(async () => {
    await pools.close()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const lines: Line[] = []
  const methods = (name: string): LogMethods => {
    const at = (level: string) => (fields: object, message: string) =>
      void lines.push({ how: `${name} ${level}`, message, fields })
    return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
  }
  const logger = { ...methods('redacting'), plain: methods('plain') }
  const decisions = createDecisionLog({
    claims: [],
    now: () => 0,
    choice: { refusals: true, oneAllowedOf: 0 },
    write: (message, fields) => void lines.push({ how: 'decision', message, fields }),
  })
  const webhooks = [
    { webhook: webhook(port), headers: [], host: 'guard.example', path: '/request' },
  ]
  await askWebhooks(
    {
      route: 'default/llm',
      phase: 'request',
      webhooks,
      attributes: {},
      entries: [
        { kind: 'text', role: 'user', content: 'a prompt', isJson: false, place: undefined },
      ],
      signal: new OwnEnding(),
    },
    { ...guardrails(pools), logger, decisions, now: () => 0 },
  )
  return lines
}

test('a verdict that allows is one line of level debug', async () => {
  const lines = await linesOf({ action: {} })
  expect(lines).toMatchObject([
    { how: 'plain debug', message: 'guardrail verdict', fields: { outcome: 'allow' } },
  ])
})

test('a verdict that rejects is one line, that of its decision', async () => {
  const lines = await linesOf({ action: { body: 'no', status_code: 403, reason: 'a word' } })
  expect(lines).toMatchObject([
    {
      how: 'decision',
      message: 'guardrail verdict',
      fields: { decision: 'deny', reason: 'a word' },
    },
  ])
})

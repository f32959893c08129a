// Webhooks that are unavailable have few lines in the log, however many requests find them so.

import { expect, test } from 'vitest'
import { askWebhooks } from '../../../src/extproc/webhook/ask-webhooks.js'
import { OwnEnding } from '../../../src/kit/ending.js'
import { createLogLimit } from '../../../src/kit/log-limit.js'
import { recordingLogger } from '../../wire/grpc/recording-logger.js'
import { guardrails, plainPools, webhook } from '../support/guards.js'

test('a webhook that cannot be reached has one line for each phase in ten seconds, with how many were left out', async () => {
  const { logger, lines } = recordingLogger()
  const pools = plainPools()
  const clock = { now: 0 }
  const limit = createLogLimit(() => clock.now)
  const deps = { ...guardrails(pools), logger, limit, now: () => clock.now }
  // Nothing listens on port 1.
  const webhooks = [{ webhook: webhook(1), headers: [], host: 'guard.example', path: '/request' }]
  const ask = async (phase: 'request' | 'response'): Promise<void> => {
    const asked = { route: 'default/llm', phase, webhooks, entries: [], attributes: {} }
    const verdict = await askWebhooks({ ...asked, signal: new OwnEnding() }, deps)
    expect(verdict.type).toBe('unavailable')
  }
  for (let count = 0; count < 5; count++) await ask('request')
  await ask('response')
  clock.now = 10_000
  await ask('request')
  expect(lines).toMatchObject([
    { fields: { phase: 'request', outcome: 'fail-closed', leftOut: 0 } },
    { fields: { phase: 'response', leftOut: 0 } },
    { fields: { phase: 'request', leftOut: 4 } },
  ])
  await pools.close()
})

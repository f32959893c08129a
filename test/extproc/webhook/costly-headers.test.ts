// Header expressions that cost much: the calls of their webhook take turns, and those of others go first.

import { expect, test } from 'vitest'
import { lazyValue } from '../../../src/extauthz/cel/attributes.js'
import { askWebhooks, type PhaseVerdict } from '../../../src/extproc/webhook/ask-webhooks.js'
import {
  type CompiledWebhook,
  compileWebhook,
} from '../../../src/extproc/webhook/compiled-guard.js'
import { type Ending, OwnEnding } from '../../../src/kit/ending.js'
import type { WebhookPools } from '../../../src/kit/http/webhook-pools.js'
import { ok } from '../../../src/kit/result.js'
import { recordingLogger } from '../../wire/grpc/recording-logger.js'
import { guardrails, webhook } from '../support/guards.js'

const groups = [...Array(400).keys()].map((index) => `group-${String(index)}`)
const attributes = { jwt: lazyValue({ groups }, JSON.stringify({ groups })) }

const guardWith = (backend: string, expression: string): CompiledWebhook =>
  compileWebhook(webhook(1, { backend, headers: [{ name: 'x-user', expression }] }))

const COSTLY = 'jwt.groups.all(a, jwt.groups.all(b, a + b != "")) ? "x" : "y"'

/** called: the webhooks that were called, in order. */
function asking(): {
  readonly called: string[]
  readonly ask: (compiled: CompiledWebhook, signal?: Ending) => Promise<PhaseVerdict>
} {
  const called: string[] = []
  const pools: WebhookPools = {
    call: ({ backend }) => {
      called.push(backend)
      return Promise.resolve(ok({ status: 200, body: [Buffer.from('{"action":{}}')] }))
    },
    close: () => Promise.resolve(),
  }
  const deps = { ...guardrails(pools), logger: recordingLogger().logger, now: () => 0 }
  const ask = (compiled: CompiledWebhook, signal: Ending = new OwnEnding()) =>
    askWebhooks(
      {
        route: 'default/llm',
        phase: 'request',
        webhooks: [compiled],
        entries: [],
        attributes,
        signal,
      },
      deps,
    )
  return { called, ask }
}

test('of many calls at once, few are prepared in a turn, and others need not wait for them', async () => {
  const { called, ask } = asking()
  const [costly, cheap] = [guardWith('costly', COSTLY), guardWith('cheap', '"x"')]
  await ask(costly)
  called.length = 0
  const asked = Array.from({ length: 100 }, () => ask(costly))
  await ask(cheap)
  // A turn has a few of them, and the one of the first question may have been full.
  expect(called).toContain('cheap')
  expect(called.length).toBeLessThan(20)
  await new Promise(setImmediate)
  expect(called.length).toBeLessThan(50)
  for (const verdict of await Promise.all(asked)) expect(verdict.type).toBe('pass')
})

test('a call whose client leaves while it waits for its turn is not made', async () => {
  const { called, ask } = asking()
  const costly = guardWith('costly', COSTLY)
  await ask(costly)
  const leaving = new OwnEnding()
  const asked = Array.from({ length: 100 }, () => ask(costly, leaving))
  await new Promise(setImmediate)
  leaving.abort()
  const before = called.length
  const types = (await Promise.all(asked)).map(({ type }) => type)
  expect([called.length, types.at(-1)]).toEqual([before, 'aborted'])
  expect(before).toBeLessThan(100)
})

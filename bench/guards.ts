// Measures the cost of guardrails: unary replies, streamed replies, and the memory of many open streams.

import { chatRequest, STEADY_MODEL } from './chat.js'
import type { GuardVariant } from './guard-envoy.js'
import { startGuardParties } from './guard-parties.js'
import { measure, type Row, type Target } from './measure.js'
import {
  measureMemory,
  measureStreams,
  measureTokens,
  type MemoryRow,
  type StreamRow,
  type TokenRow,
} from './streams.js'

export interface GuardRows {
  /** The last row is a webhook called directly. */
  readonly replies: readonly Row[]
  readonly streams: readonly StreamRow[]
  readonly tokens: readonly TokenRow[]
  readonly memory: readonly MemoryRow[]
  /** The steady model without a guard, and with a slow webhook. */
  readonly steady: readonly StreamRow[]
}

export const NO_GUARD = 'no guard'
export const NOOP = 'no-op ext_proc'
export const GO_NOOP_PROC = 'Go no-op ext_proc'
export const ALLOW = 'Gatehouse, webhooks allow'
export const WEBHOOK = 'a webhook by itself'
const CHANGE = 'Gatehouse, webhooks change all texts'

export async function measureGuards(
  rounds: number,
  say: (text: string) => void,
): Promise<GuardRows> {
  const parties = await startGuardParties()
  const { targets, webhook } = parties
  const request = chatRequest()
  const both = [
    { name: NOOP, target: targets['no-op ext_proc'] },
    { name: ALLOW, target: targets.allow },
  ]
  const replies = (name: string, target: Target) => ({
    name,
    target,
    requests: () => () => request,
  })
  const streamsOf = async (
    variants: readonly (readonly [name: string, variant: GuardVariant])[],
    model?: typeof STEADY_MODEL,
  ): Promise<readonly StreamRow[]> => {
    const rows: StreamRow[] = []
    for (const [name, variant] of variants)
      rows.push(await measureStreams(name, targets[variant], model))
    return rows
  }
  try {
    // Memory comes first, because load changes what the process holds.
    say('many streams')
    const memory: MemoryRow[] = []
    for (const { name, target } of both) memory.push(await measureMemory(name, target))
    say('streams, one by one')
    const streams = await streamsOf([
      [NO_GUARD, 'no guard'],
      [NOOP, 'no-op ext_proc'],
      [ALLOW, 'allow'],
    ])
    const steady = await streamsOf(
      [
        [NO_GUARD, 'no guard'],
        ['Gatehouse', 'steady'],
      ],
      STEADY_MODEL,
    )
    say('streams, side by side')
    const tokens = await measureTokens(both, rounds)
    const rows = await measure(
      [
        replies(NO_GUARD, targets['no guard']),
        ...(parties.hasGo ? [replies(GO_NOOP_PROC, targets[GO_NOOP_PROC])] : []),
        ...both.map(({ name, target }) => replies(name, target)),
        replies(CHANGE, targets.change),
        // Between chats that an ext_proc delays as a guarded one is delayed: a webhook that is asked without a pause, or just
        // after the LLM in its process has answered, need not be woken and answers sooner.
        { ...replies(WEBHOOK, webhook), before: targets[NOOP].port },
      ],
      rounds,
      say,
    )
    return { replies: rows, streams, tokens, memory, steady }
  } finally {
    await parties.close()
  }
}

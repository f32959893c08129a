// What guardrails cost: replies at once, streamed replies, and the memory of many open streams.

import { chatRequest } from './chat.js'
import { GUARD_VARIANTS, type GuardVariant } from './guard-envoy.js'
import { startGuardParties } from './guard-parties.js'
import { measure, type Row } from './measure.js'
import { measureMemory, measureStreams, type MemoryRow, type StreamRow } from './streams.js'

export interface GuardRows {
  readonly replies: readonly Row[]
  readonly streams: readonly StreamRow[]
  readonly memory: readonly MemoryRow[]
}

const NAMES: Readonly<Record<GuardVariant, string>> = {
  'no guard': 'no guard',
  'no-op ext_proc': 'no-op ext_proc',
  allow: 'Gatehouse, webhooks allow',
  change: 'Gatehouse, webhooks change all texts',
}

export async function measureGuards(say: (text: string) => void): Promise<GuardRows> {
  const parties = await startGuardParties()
  const { targets } = parties
  const request = chatRequest()
  try {
    // First, as load leaves its traces in the memory.
    const memory: MemoryRow[] = []
    for (const variant of ['no-op ext_proc', 'allow'] as const) {
      say(`many streams: ${NAMES[variant]}`)
      memory.push(await measureMemory(NAMES[variant], targets[variant]))
    }
    const streams: StreamRow[] = []
    for (const variant of ['no guard', 'no-op ext_proc', 'allow'] as const) {
      say(`streams: ${NAMES[variant]}`)
      streams.push(await measureStreams(NAMES[variant], targets[variant]))
    }
    const replies = await measure(
      GUARD_VARIANTS.map((variant) => ({
        ...{ name: NAMES[variant], target: targets[variant] },
        nextRequest: () => request,
      })),
      say,
    )
    return { replies, streams, memory }
  } finally {
    await parties.close()
  }
}

// Sends the events of a streamed reply one by one, under a webhook that masks.

import { setImmediate as nextTurn } from 'node:timers/promises'
import { identity } from '../../../src/extproc/encodings/decoder.js'
import { createHeldBytes } from '../../../src/extproc/session/held-bytes.js'
import { eventStream } from '../../../src/extproc/sse/framing.js'
import { createStreamedReply } from '../../../src/extproc/sse/streamed-reply.js'
import { compileGuard } from '../../../src/extproc/webhook/compiled-guard.js'
import { guardEntry, guardrails, webhook } from '../support/guards.js'
import { silent } from '../support/stream.js'
import { maskingPools } from './masking-pools.js'

const MB = 1024 * 1024
/** What came of a reply. */
export interface Came {
  readonly sent: string
  readonly refused: readonly string[]
  /** All that the webhook was shown. */
  readonly shown: readonly string[]
}

/** events: the data of each. mask: what the webhook makes of a text. */
export async function sendAll(
  events: readonly string[],
  isOneChoice: boolean,
  mask: (text: string) => string,
  signedTexts?: 'Refuse',
): Promise<Came> {
  let sent = ''
  const refused: string[] = []
  const shown: string[] = []
  const pools = maskingPools(mask, shown)
  const reply = createStreamedReply(
    {
      guard: compileGuard(
        guardEntry('k', {
          ...(signedTexts !== undefined && { signedTexts }),
          response: [webhook(1, { minIntervalMs: 0, holdBack: 64, inspectToolCalls: true })],
        }),
      ),
      attributes: {},
      isOneChoice,
      decoder: identity,
      reader: eventStream(4 * MB).reader,
      signal: new AbortController().signal,
    },
    { send: (text) => (sent += text), refuse: ({ error }) => refused.push(error.code) },
    {
      ...guardrails(pools),
      maxBodyBytes: 4 * MB,
      heldBytes: createHeldBytes(Infinity),
      now: () => 0,
      logger: silent,
    },
  )
  for (const event of events) {
    await reply.push(Buffer.from(`data: ${event}\n\n`))
    await nextTurn()
  }
  await reply.end()
  return { sent, refused, shown }
}

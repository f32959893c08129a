// A webhook that changes each text by a function, in a turn of its own.

import { setImmediate as nextTurn } from 'node:timers/promises'
import type { WebhookPools } from '../../../src/kit/http/webhook-pools.js'
import { ok } from '../../../src/kit/result.js'

/** mask: what the webhook makes of a text. shown: filled with all texts that it is shown. */
export const maskingPools = (
  mask: (text: string) => string,
  shown: string[] = [],
): WebhookPools => ({
  call: async ({ body }) => {
    const { choices } = (
      JSON.parse(Buffer.from(body).toString()) as {
        body: { choices: { message: { role: string; content: string } }[] }
      }
    ).body
    for (const { message } of choices) shown.push(message.content)
    const masked = choices.map(({ message: { role, content } }) => ({
      message: { role, content: mask(content) },
    }))
    await nextTurn()
    const answer = Buffer.from(JSON.stringify({ action: { body: { choices: masked } } }))
    return ok({ status: 200, headers: {}, body: [answer] } as never)
  },
  close: () => Promise.resolve(),
})

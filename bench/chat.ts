// The chat completion requests of the benchmarks: a prompt of about 2 kB, streamed or not.

/** Number of text events in a stream. */
export const EVENTS = 200
export const EVENT_MS = 5
/** A model whose streams begin with a burst of events and then stay open. */
export const SLOW_MODEL = 'slow'
export const BURST = 100
export const SLOW_EVENT_MS = 1_000
/** A model of 50 tokens a second, each of five characters. */
export const STEADY_MODEL = 'steady'
export const STEADY_EVENT_MS = 20
export const STEADY_TOKEN = ' word'
/** The response time of the webhook that guards the steady model, and that guard's `holdBack`. */
export const SLOW_WEBHOOK_MS = 20
export const HOLD_BACK = 64

const PROMPT = 'A sentence of some fifty characters, as people ask. '.repeat(34)

/** The raw HTTP/1.1 request. */
export function chatRequest(
  more: { readonly stream?: boolean; readonly model?: string } = {},
): string {
  const messages = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: PROMPT },
  ]
  const body = JSON.stringify({ model: 'bench', messages, ...more })
  return (
    'POST /v1/chat/completions HTTP/1.1\r\nhost: bench\r\ncontent-type: application/json\r\n' +
    `content-length: ${String(Buffer.byteLength(body))}\r\n\r\n${body}`
  )
}

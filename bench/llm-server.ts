// An LLM and three guardrail webhooks on loopback. The LLM returns chat completions of about 2 kB, or streams of 200
// events. Arguments: the ports of the LLM, of a webhook that allows, of one that changes every text, and of one that
// allows after a delay.

import { once } from 'node:events'
import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import {
  BURST,
  EVENT_MS,
  EVENTS,
  SLOW_EVENT_MS,
  SLOW_MODEL,
  SLOW_WEBHOOK_MS,
  STEADY_EVENT_MS,
  STEADY_MODEL,
  STEADY_TOKEN,
} from './chat.js'

interface ChatRequest {
  readonly model: string
  readonly stream?: boolean
}

interface Asked {
  readonly messages?: readonly { readonly role: string; readonly content: string }[]
  readonly choices?: readonly { readonly message: { readonly role: string } }[]
}

const REPLY = 'A sentence of some fifty characters, as models write. '.repeat(32)

const completion = JSON.stringify({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'bench',
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: REPLY },
      finish_reason: 'stop',
      logprobs: null,
    },
  ],
  usage: { prompt_tokens: 400, completion_tokens: 400, total_tokens: 800 },
})

const chunk = (delta: object, finish: string | null = null): string =>
  `data: ${JSON.stringify({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'bench',
    choices: [{ index: 0, delta, finish_reason: finish }],
  })}\n\n`

interface Pace {
  /** Number of events sent without a pause at the start. */
  readonly burst: number
  readonly everyMs: number
  readonly token: (event: number) => string
}

const numbered = (event: number): string => ` word${String(event)}`

async function stream(response: ServerResponse, { burst, everyMs, token }: Pace): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.write(chunk({ role: 'assistant', content: '' }))
  for (let event = 0; event < EVENTS && !response.destroyed; event++) {
    response.write(chunk({ content: token(event) }))
    if (event < burst) continue
    await new Promise((resolve) => setTimeout(resolve, everyMs))
  }
  response.write(chunk({}, 'stop'))
  response.end('data: [DONE]\n\n')
}

function json(response: ServerResponse, body: string): void {
  response.writeHead(200, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  })
  response.end(body)
}

const PACES: Readonly<Record<string, Pace>> = {
  [SLOW_MODEL]: { burst: BURST, everyMs: SLOW_EVENT_MS, token: numbered },
  [STEADY_MODEL]: { burst: 0, everyMs: STEADY_EVENT_MS, token: () => STEADY_TOKEN },
}

const llm: RequestListener = (request, response) =>
  void text(request).then((body) => {
    const { model, stream: streamed } = JSON.parse(body) as ChatRequest
    if (streamed !== true) json(response, completion)
    else void stream(response, PACES[model] ?? { burst: 0, everyMs: EVENT_MS, token: numbered })
  })

const allow: RequestListener = (request, response) =>
  void text(request).then(() => json(response, '{"action":{}}'))

const allowLate: RequestListener = (request, response) =>
  void text(request).then(() => {
    setTimeout(() => json(response, '{"action":{}}'), SLOW_WEBHOOK_MS)
  })

const change: RequestListener = (request, response) =>
  void text(request).then((body) => {
    const { messages, choices } = (JSON.parse(body) as { body: Asked }).body
    const changed = messages
      ? {
          messages: messages.map((message) => ({
            ...message,
            content: message.content.toUpperCase(),
          })),
        }
      : {
          choices: choices?.map(({ message: { role } }) => ({ message: { role, content: REPLY } })),
        }
    json(response, JSON.stringify({ action: { body: changed } }))
  })

/** A long timeout, because closing an idle connection just as it is reused would fail a request. */
const KEEP_ALIVE = { keepAliveTimeout: 600_000 }

const ports = process.argv.slice(2).map(Number)
for (const [index, listener] of [llm, allow, change, allowLate].entries())
  await once(createServer(KEEP_ALIVE, listener).listen(ports[index], '127.0.0.1'), 'listening')
process.stdout.write('ready\n')

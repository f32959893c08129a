// A small LLM server on loopback with OpenAI's API: chat completions, streamed or not, and the list of models.
// It has no model; its answers quote the prompt as it arrived.

import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { chunksOf, completion, modelList, problem, readChat } from './llm-chat.js'

/** A running LLM server. */
export interface LlmServer {
  readonly host: string
  readonly port: number
  /** Closes the server and all open connections. */
  close(): Promise<void>
}

/** What the LLM server is started with. */
export interface LlmServerOptions {
  /** Port to listen on; 0 or absent for a free one. */
  readonly port?: number
  /** Called with the last message of each prompt. */
  readonly onPrompt?: (text: string) => void
  /** Called when an answer has been sent completely. */
  readonly onAnswered?: () => void
}

const HOST = '127.0.0.1'
/** Largest body of a request. */
const MAX_BYTES = 16 * 1024 * 1024
/** Pause between two pieces of a stream, which takes about three seconds in total. */
const PIECE_MS = 15

/** Rejects when the port is in use. */
export async function startLlmServer(options: LlmServerOptions = {}): Promise<LlmServer> {
  const server = createServer((request, response) => {
    answer(request, response, options).catch(() => response.destroy())
  })
  server.listen(options.port ?? 0, HOST)
  await once(server, 'listening')
  return {
    host: HOST,
    port: (server.address() as AddressInfo).port,
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { onPrompt, onAnswered }: LlmServerOptions,
): Promise<void> {
  const call = `${request.method ?? ''} ${(request.url ?? '').split('?')[0] ?? ''}`
  if (call === 'GET /v1/models') return sendJson(response, 200, modelList)
  if (call !== 'POST /v1/chat/completions')
    return sendJson(response, 404, problem(`There is no ${call}.`))
  const asked = readChat(await read(request))
  if (asked === undefined)
    return sendJson(response, 400, problem('A JSON object with "messages" is expected.'))
  const { prompt, isStream } = asked
  onPrompt?.(prompt)
  if (isStream) await sendEvents(response, chunksOf(answerPieces(longAnswer(prompt))))
  else sendJson(response, 200, completion(shortAnswer(prompt)))
  if (response.writableEnded) onAnswered?.()
}

/** Reads the body. Rejects when it exceeds the limit or breaks off. */
async function read(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of request as AsyncIterable<Buffer>) {
    bytes += piece.length
    if (bytes > MAX_BYTES) throw new Error('the body is too large')
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString()
}

function sendJson(response: ServerResponse, status: number, json: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(json))
}

/** Sends each event after a pause; stops when the client disconnects. */
async function sendEvents(response: ServerResponse, events: readonly object[]): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
  for (const event of events) {
    await delay(PIECE_MS)
    if (response.destroyed) return
    response.write(`data: ${JSON.stringify(event)}\n\n`)
  }
  response.end('data: [DONE]\n\n')
}

// Answers of the demo's model to a prompt, and the pieces in which they are streamed.

/** Address that a model could have learned; the sample webhook masks it. */
const ADDRESS = 'carol.jones@staff.example.com'

/** Length of a piece in characters: cuts words, and always the address above. */
const PIECE = 7

/** Returns an answer that quotes the prompt as it reached the model and contains an address. */
const shortAnswer = (prompt: string): string => `You wrote: "${prompt}" Ask ${ADDRESS} about it.`

/**
 * Returns the same kind of answer, long enough to watch it arrive: up to 256 characters on either side of a change are
 * held back (decision 20a). So the address is farther than that from the start, and than twice that from the end.
 */
export const longAnswer = (prompt: string): string =>
  `You wrote: "${prompt}" That is all that I was given: the gateway shows every prompt to a guardrail webhook \
and sends me what the webhook makes of it. My answer goes back by the same way, and you need not wait until \
I am done: what the webhook has seen is yours while I am still speaking, but for the last 256 characters. \
The gateway keeps these until the webhook has seen how I go on. A secret may begin in them, and I say \
everything a few letters at a time. The address ${ADDRESS}, for one, comes in five pieces, none of which \
looks like an address. The webhook still finds it, because whatever is held back is shown to it once more, \
with what follows. You read these sentences in one go: the 256 characters before a change and the 256 behind \
it wait together, since what was found might have been part of something longer. From here on it is as it \
was in the beginning. I speak, the webhook reads along, and you get every sentence soon after I have said \
it. Were there a word that the webhook blocks, my answer would end right there with an error, and nobody \
would have read that word. Were the webhook gone, the answer would end in the same way, unless the policy \
says otherwise. I have no more to say, so the last of it comes now.`

/** Returns the pieces of a streamed answer. */
export function answerPieces(text: string): readonly string[] {
  const letters = [...text]
  return Array.from({ length: Math.ceil(letters.length / PIECE) }, (_, index) =>
    letters.slice(index * PIECE, (index + 1) * PIECE).join(''),
  )
}

// A small LLM server on loopback with OpenAI's API: chat completions, streamed or not, and the list of models.
// It has no model; its answers quote the prompt as it arrived.

import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { answerPieces, longAnswer, shortAnswer } from './llm-answer.js'
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

// Gemini streams without alt=sse, which are one JSON array: the client's request, the LLM's items, and the client's
// reading of them.

import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'

const PROMPT = JSON.stringify({ contents: [{ role: 'user', parts: [{ text: 'hi' }] }] })

/** Sends the request. Resolves when the headers of the reply have arrived. */
export async function askForArray(
  origin: string,
  path = '/both',
  signal?: AbortSignal,
): Promise<IncomingMessage> {
  const outgoing = request(`${origin}${path}/v1beta/models/m:streamGenerateContent`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    agent: false,
    ...(signal && { signal }),
  })
  outgoing.end(PROMPT)
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage]
  return response
}

export const ARRAY_HEADERS = { 'content-type': 'application/json; charset=UTF-8' }

/** One item of the LLM's reply, as JSON. */
export const item = (said: string, more: object = {}): string =>
  JSON.stringify({
    candidates: [{ content: { role: 'model', parts: [{ text: said }] }, index: 0, ...more }],
  })
export const END = { finishReason: 'STOP' }

export interface Item {
  readonly candidates?: readonly { content: { parts: readonly { text: string }[] } }[]
  readonly error?: { readonly code: number; readonly message: string; readonly status: string }
}

export const itemsOf = (body: string): readonly Item[] => JSON.parse(body) as Item[]

/** Returns the joined text of the items. */
export const said = (items: readonly Item[]): string =>
  items.map(({ candidates }) => candidates?.[0]?.content.parts[0]?.text ?? '').join('')

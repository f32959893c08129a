// A client for Gemini's API over plain HTTP: generateContent, and streamGenerateContent as server-sent events.

import type { Ask, Ears } from './llm-ask.js'

/** An answer other than 2xx, or an error in the middle of a stream. */
export class GeminiError extends Error {
  constructor(
    message: string,
    readonly status: number | undefined,
  ) {
    super(message)
  }
}

interface Answer {
  readonly error?: { readonly code: number; readonly message: string }
  readonly candidates?: readonly {
    readonly content?: {
      readonly parts?: readonly {
        readonly text?: string
        readonly thought?: boolean
        readonly functionCall?: { readonly name: string; readonly args: unknown }
      }[]
    }
  }[]
}

export async function askGemini(ask: Ask, ears: Ears): Promise<void> {
  const method = ask.stream ? 'streamGenerateContent?alt=sse' : 'generateContent'
  const response = await fetch(`${ask.url}/v1beta/models/m:${method}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...ask.headers },
    body: JSON.stringify({ contents: [{ role: 'user', parts: [{ text: ask.prompt }] }] }),
  })
  if (!response.ok) throw new GeminiError(await response.text(), response.status)
  if (!ask.stream) return hear((await response.json()) as Answer, ears)
  for await (const event of events(response)) hear(JSON.parse(event) as Answer, ears)
}

function hear(answer: Answer, ears: Ears): void {
  ears.event(answer)
  if (answer.error !== undefined) throw new GeminiError(answer.error.message, answer.error.code)
  for (const part of answer.candidates?.[0]?.content?.parts ?? []) {
    if (part.text !== undefined && part.thought !== true) ears.text(part.text)
    if (part.functionCall === undefined) continue
    const { name, args } = part.functionCall
    ears.call(name, name, JSON.stringify(args))
  }
}

/** Yields the data of each server-sent event. */
async function* events(response: Response): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const bytes of response.body ?? []) {
    const parts = (rest + decoder.decode(bytes as Uint8Array, { stream: true })).split('\n\n')
    rest = parts.pop() ?? ''
    for (const part of parts) yield part.replace(/^data: /, '')
  }
  if (rest !== '') throw new GeminiError('the stream ended within an event', undefined)
}

// A guardrail webhook to copy and change: it masks e-mail addresses and refuses texts that hold a blocked word, in
// prompts and in replies. It needs nothing but Node; 22.18 and newer run this file as it is: node webhook.ts [PORT]
// Environment: PORT (8000), HOST (127.0.0.1), BLOCKED_WORDS (swordfish; several with commas between them).

import { createServer, type IncomingMessage } from 'node:http'

interface Message {
  readonly role: string
  readonly content: string
  /** The number of its message, if that has several texts. */
  readonly message?: number
}

/** Each try at a match starts where an address can start: a long text without one costs no more than reading it. */
const EMAIL = /(?<![\p{L}\p{N}._+-])[\p{L}\p{N}._+-]+@[\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)+/gu
const MASK = '[email]'
const BLOCKED = wholeWords(process.env['BLOCKED_WORDS'] ?? 'swordfish')
/** The largest prompt or reply that is read; Gatehouse's own limit is 10 MiB, before JSON's escapes. */
const MAX_BYTES = 32 * 1024 * 1024

type Verdict =
  | { readonly type: 'allow' }
  /** As many messages as came, with their roles, in their order. */
  | { readonly type: 'modify'; readonly messages: readonly Message[] }
  | { readonly type: 'reject'; readonly status: number; readonly text: string }

/** This is the part to change. */
function judge(messages: readonly Message[]): Verdict {
  const texts = [...messages.map(({ content }) => content), ...joined(messages)]
  if (texts.some((text) => BLOCKED.test(text)))
    return { type: 'reject', status: 403, text: 'Blocked: there is a word that may not pass.' }
  const masked = messages.map(({ role, content }) => ({
    role,
    content: content.replace(EMAIL, MASK),
  }))
  // Neither of two texts could be changed so that a part of an address tells nothing.
  if (joined(masked.map((one, index) => ({ ...messages[index], ...one }))).some(isAddressed))
    return { type: 'reject', status: 403, text: 'Blocked: an address is in two parts.' }
  const isChanged = masked.some(({ content }, index) => content !== messages[index]?.content)
  return isChanged ? { type: 'modify', messages: masked } : { type: 'allow' }
}

/** The texts of each message that has several, as a model reads them. */
function joined(messages: readonly Message[]): readonly string[] {
  const texts = new Map<number, string>()
  for (const { message, content } of messages)
    if (message !== undefined) texts.set(message, (texts.get(message) ?? '') + content)
  return [...texts.values()]
}

const isAddressed = (text: string): boolean => text.replace(EMAIL, MASK) !== text

/** "one,two" → what finds either, in any case; nothing at all for "". */
function wholeWords(list: string): RegExp {
  const words = list.split(',').map((word) => word.trim().replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
  const either = words.filter((word) => word !== '').join('|')
  return new RegExp(
    either === '' ? '(?!)' : `(?<![\\p{L}\\p{N}])(?:${either})(?![\\p{L}\\p{N}])`,
    'iu',
  )
}

interface Answer {
  readonly status: number
  readonly json: object
}

async function answer(request: IncomingMessage): Promise<Answer> {
  const { method, url } = request
  if (method !== 'POST' || (url !== '/request' && url !== '/response'))
    return noVerdict(404, 'POST /request and POST /response are all there is')
  const text = await read(request)
  if (text === undefined) return noVerdict(413, `more than ${String(MAX_BYTES)} bytes`)
  const messages = messagesOf(text, url)
  if (messages === undefined) return noVerdict(400, 'not what Gatehouse asks a webhook')
  return { status: 200, json: { action: actionOf(judge(messages), url) } }
}

/** What becomes of the text is then for the policy's failureMode to say. */
const noVerdict = (status: number, error: string): Answer => ({ status, json: { error } })

function actionOf(verdict: Verdict, url: '/request' | '/response'): object {
  switch (verdict.type) {
    case 'allow':
      return {}
    case 'modify': {
      const { messages } = verdict
      const choices = messages.map((message) => ({ message }))
      return { body: url === '/request' ? { messages } : { choices } }
    }
    case 'reject':
      return { body: verdict.text, status_code: verdict.status }
  }
}

/** undefined: larger than the limit. */
async function read(request: IncomingMessage): Promise<string | undefined> {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += piece.length
    if (bytes > MAX_BYTES) return undefined
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString()
}

/** undefined: not JSON, or of another shape. */
function messagesOf(text: string, url: '/request' | '/response'): readonly Message[] | undefined {
  try {
    const body = member(JSON.parse(text), 'body')
    const entries = member(body, url === '/request' ? 'messages' : 'choices')
    if (!Array.isArray(entries)) return undefined
    const messages = entries.map((entry: unknown) =>
      url === '/request' ? entry : member(entry, 'message'),
    )
    return messages.every(isMessage) ? messages : undefined
  } catch {
    return undefined
  }
}

const member = (value: unknown, name: string): unknown =>
  (value as Readonly<Record<string, unknown>> | null | undefined)?.[name]

const isMessage = (value: unknown): value is Message =>
  typeof member(value, 'role') === 'string' && typeof member(value, 'content') === 'string'

const server = createServer((request, response) => {
  void answer(request)
    .catch(() => noVerdict(400, 'the request broke off'))
    .then(({ status, json }) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(json))
      if (!request.complete) dropRest(request)
    })
})

/** What is left of a body is dropped for a second: a connection that closes with unread bytes can lose the answer. */
function dropRest(request: IncomingMessage): void {
  const timer = setTimeout(() => request.socket.destroy(), 1_000)
  request.once('end', () => clearTimeout(timer)).resume()
}

// Longer than Gatehouse keeps an idle connection (300 s), so that none closes just as it is used again.
server.keepAliveTimeout = 310_000
server.on('error', (error) => {
  console.error(`webhook: ${error.message}`)
  process.exitCode = 1
})
// The first process of a container gets no signal that it does not ask for.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(0))

const host = process.env['HOST'] ?? '127.0.0.1'
const port = Number(process.argv[2] ?? process.env['PORT'] ?? 8000)
server.listen(port, host, () => console.log(`guardrail webhook at http://${host}:${String(port)}`))

// What a webhook is asked: the entries as its wire shape has them, and the headers that its expressions give (decisions 15 and 24).

import type { Attributes } from '../../cel/attributes.js'
import { Budget } from '../../cel/budget.js'
import type { Phase } from '../../ir/proc-entry.js'
import type { CompiledWebhook } from './compiled-guard.js'
import type { Shown } from './webhook-answer.js'

export interface WebhookRequest {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}

export function webhookRequest(
  { headers: compiled, host, path: ownPath }: CompiledWebhook,
  phase: Phase,
  shown: readonly Shown[],
  attributes: Attributes,
  budget = new Budget(),
): WebhookRequest {
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    accept: 'application/json',
    'accept-encoding': 'identity',
    'user-agent': 'gatehouse',
    host,
  }
  let [method, path] = ['POST', ownPath]
  for (const { name, expression } of compiled) {
    const value = expression.evaluate(attributes, budget)
    if (!value.ok) continue
    const text = headerText(value.value)
    if (name === ':method') method = TOKEN.test(text) ? text : method
    else if (name === ':path') path = PATH.test(text) ? text : path
    else if (name === ':authority') headers['host'] = AUTHORITY.test(text) ? text : host
    else if (VALUE.test(text)) headers[name] = text
  }
  return { method, path, headers, body: bodyOf(phase, shown) }
}

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/
const PATH = /^\/[\x21-\x7e]*$/
const AUTHORITY = /^[\w.:[\]%~-]{1,512}$/
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/

/** Values of the client's headers are bytes already; anything beyond goes as UTF-8. */
const headerText = (value: string): string =>
  /[^\x00-\xff]/.test(value) ? Buffer.from(value, 'utf8').toString('latin1') : value

function bodyOf(phase: Phase, shown: readonly Shown[]): Uint8Array {
  const messages = shown.map(({ role, content }) => ({ role, content }))
  const body =
    phase === 'request' ? { messages } : { choices: messages.map((message) => ({ message })) }
  return Buffer.from(JSON.stringify({ body }))
}

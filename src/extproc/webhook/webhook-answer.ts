// The body of a webhook's answer → its verdict, strictly: what is neither of the three is no verdict (decisions 15 and 16).

import type { Phase } from '../../ir/proc-entry.js'
import { isJsonObject, parseJson, type Json } from '../../ir/json.js'
import { readJson } from '../../llm/json/json-text.js'
import { err, ok, type Result } from '../../result.js'

export interface Shown {
  readonly role: string
  readonly content: string
  /** A change must be JSON (decision 19a). */
  readonly isJson: boolean
  /** There is a place that a change can be written to. */
  readonly isWritable: boolean
}

export type Verdict =
  | { readonly type: 'allow' }
  /** One content per entry that was shown. */
  | { readonly type: 'modify'; readonly contents: readonly string[] }
  | { readonly type: 'reject'; readonly status: number; readonly text: string }

/** The error is a sentence without any text of the answer. */
export function readVerdict(
  answer: Uint8Array,
  phase: Phase,
  shown: readonly Shown[],
): Result<Verdict, string> {
  // Of two members with one name, readers pick either: such an answer says two things.
  const read = readJson(answer)
  if (!read.ok) return err(`the answer cannot be read: ${read.error}`)
  const json = JSON.parse(read.value.text) as Json
  if (!isJsonObject(json)) return err('the answer is not a JSON object')
  const { action } = json
  if (!isJsonObject(action)) return err('the answer has no action')
  const { body, status_code: status } = action
  if (body === undefined && status === undefined) return ok({ type: 'allow' })
  if (typeof body === 'string') return readReject(body, status)
  if (isJsonObject(body) && status === undefined) return readModify(body, phase, shown)
  return err('the action is neither allow, modify nor reject')
}

function readReject(text: string, status: Json | undefined): Result<Verdict, string> {
  if (typeof status !== 'number' || !Number.isInteger(status) || status < 200 || status > 599)
    return err('a reject needs a status_code from 200 to 599')
  return ok({ type: 'reject', status, text })
}

function readModify(
  { messages, choices }: { readonly [name: string]: Json },
  phase: Phase,
  shown: readonly Shown[],
): Result<Verdict, string> {
  const [own, other] = phase === 'request' ? [messages, choices] : [choices, messages]
  if (!isArray(own) || other !== undefined)
    return err(`a modify of the ${phase} has no ${phase === 'request' ? 'messages' : 'choices'}`)
  if (own.length !== shown.length) return err('a modify has another count than was sent')
  const contents: string[] = []
  for (const [index, entry] of shown.entries()) {
    const content = readContent(phase === 'request' ? own[index] : messageOf(own[index]), entry)
    if (!content.ok) return content
    contents.push(content.value)
  }
  return ok({ type: 'modify', contents })
}

const isArray = (json: Json | undefined): json is readonly Json[] => Array.isArray(json)

const messageOf = (choice: Json | undefined): Json | undefined =>
  isJsonObject(choice) ? choice['message'] : undefined

function readContent(message: Json | undefined, entry: Shown): Result<string, string> {
  if (!isJsonObject(message)) return err('a modify has an entry that is no message')
  const { role, content } = message
  if (role !== entry.role) return err('a modify has another role than was sent')
  if (typeof content !== 'string') return err('a modify has a content that is no string')
  if (content === entry.content) return ok(content)
  if (!entry.isWritable) return err('a modify gives text to a message that can have none')
  if (entry.isJson && !isJsonText(content)) return err('a modify of a tool call is not JSON')
  return ok(content)
}

const isJsonText = (text: string): boolean =>
  parseJson(new TextEncoder().encode(text)) !== undefined

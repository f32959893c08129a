// Parses the body of a webhook's answer strictly: it must be exactly one of the three verdicts (decisions 15 and 16).

import type { Ending } from '../../kit/ending.js'
import type { JsonNode, JsonProblem } from '../../kit/json/json-node.js'
import {
  type JsonText,
  readJson,
  readJsonInTurns,
  readJsonTextInTurns,
} from '../../kit/json/json-text.js'
import { MAX_VALUES } from '../../kit/json/keeps.js'
import type { JsonObjectNode } from '../../kit/json/members.js'
import { ownPart } from '../../kit/own-text.js'
import { err, ok, type Result } from '../../kit/result.js'
import { inTurns, nextTurn, Pace, unitsOf, type Work } from '../../kit/turns.js'
import { joinInTurns } from '../../kit/utf8.js'
import type { Phase } from '../../model/proc-entry.js'
import type { EntryPart } from '../llm/text/conversation.js'
import { reasonOf } from './verdict-reason.js'

/** An entry that a webhook was shown. */
export interface Shown {
  readonly role: string
  readonly content: string
  /** Whether a change must be JSON (decision 19a). */
  readonly isJson: boolean
  /** Whether a change can be written back. */
  readonly isWritable: boolean
  /** Where it is among the texts of its message; absent: it is alone. */
  readonly part?: EntryPart
}

/** Optional part of every verdict. */
interface Explained {
  /** Reason as the webhook wrote it; everybody else gets shownText(). */
  readonly reason?: string
}

/** Optional parts of a verdict that lets text pass. */
export interface Passing extends Explained {
  /** Characters at the end of a window that the webhook still needs; absent: as the policy says. */
  readonly holdBack?: number
}

/** The verdict of one webhook. */
export type Verdict =
  | ({ readonly type: 'allow' } & Passing)
  /** contents: one per entry that was shown. */
  | ({ readonly type: 'modify'; readonly contents: readonly string[] } & Passing)
  | ({ readonly type: 'reject'; readonly status: number; readonly text: string } & Explained)

/**
 * Reads a verdict, a short one at once. parts: the body of the answer. signal: ends the reading. The error is a sentence
 * without any text of the answer.
 */
export function readVerdict(
  parts: readonly Uint8Array[],
  phase: Phase,
  shown: readonly Shown[],
  signal?: Ending,
): Promise<Result<Verdict, string>> | Result<Verdict, string> {
  const [first] = parts
  const isShort = parts.length === 1 && first !== undefined && first.length <= SHORT
  if (!isShort) return readLongVerdict(parts, phase, shown, signal)
  return verdictIn(readJson(first), phase, shown, signal)
}

async function readLongVerdict(
  parts: readonly Uint8Array[],
  phase: Phase,
  shown: readonly Shown[],
  signal: Ending | undefined,
): Promise<Result<Verdict, string>> {
  const read = await inTurns(readParts(parts, mostValues(shown)), signal)
  return read === undefined ? UNAWAITED : verdictIn(read, phase, shown, signal)
}

/** read: an answer with two members of one name is an error, because readers may pick either. */
function verdictIn(
  read: Result<JsonText, JsonProblem>,
  phase: Phase,
  shown: readonly Shown[],
  signal: Ending | undefined,
): Promise<Result<Verdict, string>> | Result<Verdict, string> {
  if (!read.ok) return err(`the answer cannot be read: ${read.error}`)
  const { root } = read.value
  if (root.type !== 'object') return err('the answer is not a JSON object')
  const action = root.members.get('action')
  if (action?.type !== 'object') return err('the answer has no action')
  const body = action.members.get('body')
  const status = action.members.get('status_code')
  const passing = passingOf(root, read.value)
  if (!passing.ok) return passing
  const reason = reasonOf(action)
  const explained: Explained = reason === undefined ? {} : { reason }
  if (body === undefined && status === undefined)
    return ok({ type: 'allow', ...passing.value, ...explained })
  if (body?.type === 'string') {
    const reject = readReject(body.value, numberOf(status, read.value))
    return reject.ok ? ok({ ...reject.value, ...explained }) : reject
  }
  if (body?.type !== 'object' || status !== undefined)
    return err('the action is neither allow, modify nor reject')
  return readModify(body, read.value.text, phase, shown, signal).then((contents) =>
    contents.ok
      ? ok({ type: 'modify', contents: contents.value, ...passing.value, ...explained })
      : contents,
  )
}

const UNAWAITED = err('nobody waits for the answer any more')

function* readParts(
  parts: readonly Uint8Array[],
  maxValues: number,
): Work<Result<JsonText, JsonProblem>> {
  return yield* readJsonInTurns(yield* joinInTurns(parts), { maxValues })
}

/** Values for each entry of an answer: a choice, its message, its role and its content, and as many members of the webhook's own. */
const VALUES_PER_ENTRY = 8

/** A webhook may change every entry that it was shown. */
const mostValues = (shown: readonly Shown[]): number => MAX_VALUES + VALUES_PER_ENTRY * shown.length

/** Answers of at most this many bytes are read without a pause. */
const SHORT = 16 * 1024
const MOST_HELD_BACK = 4096

function passingOf(root: JsonObjectNode, json: JsonText): Result<Passing, string> {
  const node = root.members.get('holdBack')
  if (node === undefined) return ok({})
  const holdBack = numberOf(node, json)
  return Number.isInteger(holdBack) && holdBack >= 0 && holdBack <= MOST_HELD_BACK
    ? ok({ holdBack })
    : err(`holdBack is not an integer from 0 to ${MOST_HELD_BACK}`)
}

const numberOf = (node: JsonNode | undefined, { text }: JsonText): number =>
  node?.type === 'number' ? Number(text.slice(node.start, node.end)) : NaN

function readReject(text: string, status: number): Result<Verdict, string> {
  if (!Number.isInteger(status) || status < 200 || status > 599)
    return err('a reject needs a status_code from 200 to 599')
  return ok({ type: 'reject', status, text })
}

/** text: the whole answer, which may say more than the contents that are kept of it. */
async function readModify(
  body: JsonObjectNode,
  text: string,
  phase: Phase,
  shown: readonly Shown[],
  signal: Ending | undefined,
): Promise<Result<readonly string[], string>> {
  const [messages, choices] = ['messages', 'choices'].map((name) => body.members.get(name))
  const [own, other] = phase === 'request' ? [messages, choices] : [choices, messages]
  if (own?.type !== 'array' || other !== undefined)
    return err(`a modify of the ${phase} has no ${phase === 'request' ? 'messages' : 'choices'}`)
  if (own.isCut === true || own.items.length !== shown.length)
    return err('a modify has another count than was sent')
  const contents: string[] = []
  const pace = new Pace()
  for (const [index, entry] of shown.entries()) {
    if (pace.isDue(unitsOf(entry.content.length))) await nextTurn()
    if (signal?.aborted === true) return UNAWAITED
    const item = own.items[index]
    const content = await readContent(phase === 'request' ? item : messageOf(item), entry, signal)
    if (!content.ok) return content
    contents.push(ownPart(content.value, text))
  }
  return ok(contents)
}

const messageOf = (choice: JsonNode | undefined): JsonNode | undefined =>
  choice?.type === 'object' ? choice.members.get('message') : undefined

async function readContent(
  message: JsonNode | undefined,
  entry: Shown,
  signal: Ending | undefined,
): Promise<Result<string, string>> {
  if (message?.type !== 'object') return err('a modify has an entry that is no message')
  const [role, content] = ['role', 'content'].map((name) => message.members.get(name))
  if (role?.type !== 'string' || role.value !== entry.role)
    return err('a modify has another role than was sent')
  if (content?.type !== 'string') return err('a modify has a content that is no string')
  const text = content.value
  if (text === entry.content) return ok(text)
  if (!entry.isWritable) return err(CHANGES_FIXED)
  if (!entry.isJson) return ok(text)
  const json = await inTurns(readJsonTextInTurns(text), signal)
  if (json === undefined) return UNAWAITED
  return json.ok ? ok(text) : err(CHANGES_TO_NO_JSON)
}

const CHANGES_FIXED = 'a modify changes what cannot be changed: a message without text, or an id'
const CHANGES_TO_NO_JSON = 'a modify of a tool call is not JSON'

/** Whether a webhook wants to change a text in a way that the text forbids: a client can choose such a text. */
export const isForbiddenChange = (problem: string): boolean =>
  problem === CHANGES_FIXED || problem === CHANGES_TO_NO_JSON

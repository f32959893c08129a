// The decision log: a JSON line for each refused or changed request and, if asked for, for allowed ones
// (docs/decision-log.md).

import { createLogLimit, type LogLimit } from './log-limit.js'
import { readTraceparent, TRACEPARENT } from './tracing.js'

/** Writes a line of the decision log, to where the operator wants it. Must not wait. */
export type WriteDecision = (message: string, fields: object) => void

/** What a decision log is created with. */
export interface DecisionLogOptions {
  readonly write: WriteDecision
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** Value of --decision-log. */
  readonly choice: DecisionChoice
  /** Value of --log-claims. */
  readonly claims: readonly string[]
}

/** Which requests have lines. */
export interface DecisionChoice {
  readonly refusals: boolean
  /** Whether similar refusals have lines of their own too; default false. */
  readonly everyRefusal?: boolean
  /** N to log one of N allowed requests; 0: none. */
  readonly oneAllowedOf: number
}

/** A request that was refused or changed. */
export interface RefusalLine {
  /** The msg of its line. */
  readonly message: string
  /** The fields that lines which are summed up have in common; undefined: absent. */
  readonly key: Readonly<Record<string, string | number | undefined>>
  /** Returns the fields of who made the request; undefined: nothing is known. Absent: nothing is known. */
  readonly caller?: () => CallerFields | undefined
  /** Called only for a line that is written. */
  readonly fields: () => object
}

/** Writes lines about requests. Never throws. */
export interface DecisionLog {
  /** Names of claims that lines may show besides sub, iss and client_id. */
  readonly claims: readonly string[]
  refused(line: RefusalLine): void
  /** fields: called only for a line that is written. */
  allowed(message: string, fields: () => object): void
  /** Writes how many lines were left out that no other line has told of, as at the end of the process. */
  flush(): void
}

/** Message of the line about those left out when no line of their key followed. */
export const LEFT_OUT = 'decisions left out'

/** Creates a decision log. */
export function createDecisionLog({ write, now, choice, claims }: DecisionLogOptions): DecisionLog {
  const limit = createDecisionLimit(now, choice.everyRefusal === true)
  let untold = 0
  return {
    claims,
    refused({ message, key, caller, fields }) {
      if (!choice.refusals) return
      tried(() => {
        const admitted = limit.admit({ of: message, ...key }, caller?.(), (leftOut, shared = {}) =>
          write(LEFT_OUT, { ...present(shared), leftOut }),
        )
        if (admitted === undefined) return
        const line = { ...fields(), leftOut: admitted.leftOut }
        write(message, line)
        admitted.spend?.(Buffer.byteLength(JSON.stringify(line)))
      })
    },
    allowed(message, fields) {
      if (choice.oneAllowedOf === 0) return
      untold += 1
      if (untold < choice.oneAllowedOf) return
      untold = 0
      tried(() => write(message, fields()))
    },
    flush: () => limit.flush(),
  }
}

/** A line that cannot be written must change no answer, nor end the process, as it would from a timer. */
function tried(writeLine: () => void): void {
  try {
    writeLine()
  } catch {
    // Nothing is reported, as the logger itself may have failed.
  }
}

const present = (key: object): object =>
  Object.fromEntries(Object.entries(key).filter(([, value]) => value !== undefined))

/** The parts of a request that lines may show. */
export interface RequestFacts {
  readonly method: string
  readonly host: string
  readonly pathAndQuery: string
  /** Headers by lower-case name. */
  readonly headers: ReadonlyMap<string, string | readonly string[]>
}

/** Longest text of a client that is shown whole, in characters. */
const MAX_TEXT = 256
/** Shortest word of a credential that is hidden; shorter ones are of no use to anybody. */
const MIN_SECRET = 8
/** Maximum number of words with the same beginning; of more, the beginning and all that follows it is hidden. */
const MAX_ALIKE = 8
const HIDDEN = '[token]'

/** Matches characters that a terminal or a log viewer would act on instead of showing them. */
const UNSAFE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}]/u

/** Returns at most 256 characters, with escapes such as \u001b for control characters. Neither is cut in two. */
export function shownText(text: string): string {
  let shown = ''
  for (const character of text.slice(0, MAX_TEXT)) {
    const next = UNSAFE.test(character) ? escaped(character) : character
    if (shown.length + next.length > MAX_TEXT) break
    shown += next
  }
  return shown
}

/** Returns an escape such as \u001b. character: a single UTF-16 unit. */
export const escaped = (character: string): string =>
  `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

/** Truncates a text, escapes its control characters and hides the credentials of this request in it. */
export type Hide = (text: string) => string

/** The cost of a text is linear in its length: clients choose it, and the words. */
export function hider({ headers }: Pick<RequestFacts, 'headers'>): Hide {
  let words: WordsByStart | undefined
  return (text) => {
    words ??= credentialsIn(headers)
    const tokenEnd = tokensIn(text)
    let shown = ''
    // A secret becomes shorter, so that few steps fill the line.
    for (let at = 0; at < text.length && shown.length < MAX_TEXT;) {
      const end = endOfWord(text, at, words) ?? tokenEnd(at)
      shown += end === undefined ? (text[at] ?? '') : HIDDEN
      at = end ?? at + 1
    }
    return shownText(shown)
  }
}

/** Words by their first characters, the longest first. */
type WordsByStart = ReadonlyMap<string, readonly string[]>

function credentialsIn(headers: RequestFacts['headers']): WordsByStart {
  const words = ['authorization', 'proxy-authorization', 'cookie']
    .flatMap((name) => [headers.get(name) ?? []].flat())
    .flatMap((value) => value.split(/[\s,;=]+/))
    .filter((word) => word.length >= MIN_SECRET)
  const all = [...new Set(words)].sort((a, b) => b.length - a.length)
  const byStart = new Map<string, string[]>()
  for (const word of all) {
    const start = word.slice(0, MIN_SECRET)
    const alike = byStart.get(start)
    if (alike === undefined) byStart.set(start, [word])
    else alike.push(word)
  }
  return byStart
}

/** Returns the end of the credential that begins at the offset; undefined: none does. */
function endOfWord(text: string, at: number, words: WordsByStart): number | undefined {
  if (words.size === 0) return undefined
  const alike = words.get(text.slice(at, at + MIN_SECRET))
  if (alike === undefined) return undefined
  if (alike.length > MAX_ALIKE) return text.length
  const found = alike.find((word) => text.startsWith(word, at))
  return found === undefined ? undefined : at + found.length
}

const START_OF_TOKEN = 'eyJ'
const PART_OF_TOKEN = /[\w-]*/y
const REST_OF_TOKEN = /\.[\w-][\w.-]*/y

/** Returns a function that finds the end of what looks like a token at an offset. The offsets must ascend. */
function tokensIn(text: string): (at: number) => number | undefined {
  let partEnd = 0
  return (at) => {
    if (!text.startsWith(START_OF_TOKEN, at)) return undefined
    if (at >= partEnd) partEnd = endOf(PART_OF_TOKEN, text, at) ?? at
    return endOf(REST_OF_TOKEN, text, partEnd)
  }
}

/** pattern: sticky. undefined: it does not match at the offset. */
function endOf(pattern: RegExp, text: string, at: number): number | undefined {
  pattern.lastIndex = at
  return pattern.test(text) ? pattern.lastIndex : undefined
}

/** Headers that requestFields() and hider() read. */
export const LOGGED_FROM: readonly string[] = [
  'x-request-id',
  TRACEPARENT,
  'authorization',
  'proxy-authorization',
  'cookie',
]

/**
 * Returns requestId, traceId and spanId if present, method, host, and path without query. traceparent: what Envoy sent
 * with its own call; absent: the request's.
 */
export function requestFields(facts: RequestFacts, hide: Hide, traceparent?: string): object {
  const { headers, method, host, pathAndQuery } = facts
  const id = oneOf(headers.get('x-request-id'))
  const [path = ''] = pathAndQuery.split(/[?#]/, 1)
  return {
    ...(id !== undefined && { requestId: hide(id) }),
    ...traceFields(traceparent ?? oneOf(headers.get(TRACEPARENT))),
    method: hide(method),
    host: hide(host),
    path: hide(path),
  }
}

/** Returns traceId and spanId, if the traceparent is valid. */
export function traceFields(traceparent: string | undefined): object {
  const trace = readTraceparent(traceparent)
  return trace === undefined ? {} : { traceId: trace.traceId, spanId: trace.spanId }
}

const oneOf = (value: string | readonly string[] | undefined): string | undefined =>
  typeof value === 'string' ? value : undefined

/** Who made a request, without credentials, and each text at most 256 characters long. */
export type CallerFields = Readonly<Record<string, unknown>> & { readonly verified: boolean }

const CALLER = ['sub', 'iss', 'client_id']

/** Returns sub, iss and client_id and, of verified claims, those that were asked for as "claims". */
export function callerFields(
  claims: Readonly<Record<string, unknown>>,
  {
    asked = [],
    verified,
  }: { readonly asked?: readonly string[] | undefined; readonly verified: boolean },
  hide: Hide,
): CallerFields {
  const pick = (names: readonly string[]): object =>
    Object.fromEntries(
      names
        .filter((name) => Object.hasOwn(claims, name))
        .map((name) => [name, loggable(claims[name], hide)]),
    )
  return {
    verified,
    ...pick(CALLER),
    ...(verified && asked.length > 0 && { claims: pick(asked) }),
  }
}

const MAX_ITEMS = 8

/** Returns numbers, texts (hidden) and lists of them as they are, and anything else as JSON text. */
export function loggable(value: unknown, hide: Hide): unknown {
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) return value
  if (typeof value === 'string') return hide(value)
  if (Array.isArray(value)) return value.slice(0, MAX_ITEMS).map((item) => flat(item, hide))
  return flat(value, hide)
}

const flat = (value: unknown, hide: Hide): unknown =>
  typeof value === 'object' && value !== null ? hide(JSON.stringify(value)) : loggable(value, hide)

// Limits the lines of the decision log about refused and changed requests, of which clients can cause any number: one per
// key and caller in ten seconds and, with --decision-log all, more of them up to a number of bytes a second.

/** Tells that lines were left out. key: what they have in common; undefined: nothing. */
export type TellLeftOut = (leftOut: number, key: object | undefined) => void

/** A line that may be written. */
export interface Admitted {
  /** Number of lines with the same key and caller that were left out since the last one. */
  readonly leftOut: number
  /** Counts the bytes of the line. Absent: they are not limited. */
  readonly spend?: (bytes: number) => void
}

interface Caller {
  readonly verified: boolean
}

/** Limits lines by key and caller. */
export interface DecisionLimit {
  /**
   * undefined: the line must be left out, which is counted. key, caller: short values by which lines are told apart. No
   * caller: nothing is known of it.
   */
  admit(key: object, caller: Caller | undefined, tell: TellLeftOut): Admitted | undefined
  /** Tells of all that were left out. */
  flush(): void
}

/** Keys of callers that are told apart in ten seconds, of each kind: anybody can make up claims that nobody verifies. */
const MAX_VERIFIED = 256
const MAX_CLAIMED = 64

/** Bytes of lines a second, and at once after a pause. */
const BYTES_PER_SECOND = 1024 * 1024

/** now: milliseconds since the epoch. isAll: whether only the number of bytes limits the lines. */
function createDecisionLimit(now: () => number, isAll: boolean): DecisionLimit {
  const verified = createLogLimit(now, MAX_VERIFIED)
  const claimed = createLogLimit(now, MAX_CLAIMED)
  // For lines without a caller, and for those of too many callers.
  const shared = createLogLimit(now)
  const bytes = isAll ? createByteBudget(now) : undefined

  const take = (limit: LogLimit, text: string, key: object, tell: TellLeftOut) =>
    limit.take(text, {
      rest: (leftOut, isShared) => tell(leftOut, isShared ? undefined : key),
      isFree: bytes?.isLeft() === true,
    })
  const admit: DecisionLimit['admit'] = (key, caller, tell) => {
    const own = { ...key, ...caller }
    const text = JSON.stringify(own)
    const callers = caller?.verified === true ? verified : claimed
    const leftOut =
      caller !== undefined && callers.hasRoom(text)
        ? take(callers, text, own, tell)
        : take(shared, JSON.stringify(key), key, tell)
    return leftOut === undefined ? undefined : { leftOut, ...(bytes && { spend: bytes.spend }) }
  }
  const flush = (): void => {
    for (const limit of [verified, claimed, shared]) limit.flush()
  }
  return { admit, flush }
}

interface ByteBudget {
  readonly isLeft: () => boolean
  /** May spend more than is left, which the next seconds pay. */
  readonly spend: (bytes: number) => void
}

function createByteBudget(now: () => number): ByteBudget {
  let left = BYTES_PER_SECOND
  let at = now()
  return {
    isLeft() {
      const time = now()
      // A clock that was set back brings nothing.
      const earned = (Math.max(0, time - at) / 1_000) * BYTES_PER_SECOND
      at = time
      left = Math.min(BYTES_PER_SECOND, left + earned)
      return left > 0
    },
    spend: (bytes) => void (left -= bytes),
  }
}

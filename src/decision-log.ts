// The decision log: a JSON line for each refused or changed request and, if asked for, for allowed ones. As clients can
// cause these lines without end, each key has one in ten seconds, with the number left out (docs/decision-log.md).

import { createLogLimit } from './log-limit.js'
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
  /** N to log one of N allowed requests; 0: none. */
  readonly oneAllowedOf: number
}

/** Writes lines about requests. Never throws. */
export interface DecisionLog {
  /** Names of claims that lines may show besides sub, iss and client_id. */
  readonly claims: readonly string[]
  /** fields: called only for a line that is written. */
  refused(key: DecisionKey, message: string, fields: () => object): void
  allowed(message: string, fields: () => object): void
  /** Writes how many lines were left out that no other line has told of, as at the end of the process. */
  flush(): void
}

/** The fields that lines which are limited together have in common. */
export type DecisionKey = Readonly<Record<string, string | number | undefined>>

/** Message of the line about those left out when no line of their key followed. */
export const LEFT_OUT = 'decisions left out'

/** Creates a decision log. */
export function createDecisionLog({ write, now, choice, claims }: DecisionLogOptions): DecisionLog {
  const limit = createLogLimit(now)
  let untold = 0
  return {
    claims,
    refused(key, message, fields) {
      if (!choice.refusals) return
      tried(() => {
        const leftOut = limit.take([message, ...Object.values(key)].join(' '), (rest, isShared) =>
          write(LEFT_OUT, { ...(!isShared && { of: message, ...present(key) }), leftOut: rest }),
        )
        if (leftOut !== undefined) write(message, { ...fields(), leftOut })
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

const present = (key: DecisionKey): object =>
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

/** Truncates a text and hides the credentials of this request in it. */
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
    return shown.slice(0, MAX_TEXT)
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
  ...['x-request-id', TRACEPARENT, 'authorization', 'proxy-authorization', 'cookie'],
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
    ...{ method: hide(method), host: hide(host), path: hide(path) },
  }
}

/** Returns traceId and spanId, if the traceparent is valid. */
export function traceFields(traceparent: string | undefined): object {
  const trace = readTraceparent(traceparent)
  return trace === undefined ? {} : { traceId: trace.traceId, spanId: trace.spanId }
}

const oneOf = (value: string | readonly string[] | undefined): string | undefined =>
  typeof value === 'string' ? value : undefined

const CALLER = ['sub', 'iss', 'client_id']

/** Returns sub, iss and client_id and, of verified claims, those that were asked for as "claims". */
export function callerFields(
  claims: Readonly<Record<string, unknown>>,
  { asked, verified }: { readonly asked: readonly string[]; readonly verified: boolean },
  hide: Hide,
): object {
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

// The decision log: a JSON line for each refused or changed request and, if asked for, for allowed ones. As clients can
// cause these lines without end, each key has one in ten seconds, with the number left out (docs/decision-log.md).

import { createLogLimit } from './log-limit.js'
import { readTraceparent, TRACEPARENT } from './tracing.js'

/** Writes a line of the decision log, to where the operator wants it. Must not wait. */
export type WriteDecision = (message: string, fields: object) => void

export interface DecisionLogOptions {
  readonly write: WriteDecision
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** Value of --decision-log. */
  readonly choice: DecisionChoice
  /** Value of --log-claims. */
  readonly claims: readonly string[]
}

export interface DecisionChoice {
  readonly refusals: boolean
  /** N to log one of N allowed requests; 0: none. */
  readonly oneAllowedOf: number
}

export interface DecisionLog {
  /** Names of claims that lines may show besides sub, iss and client_id. */
  readonly claims: readonly string[]
  /** key: lines with the same key are limited together. fields: called only for a line that is written. */
  refused(key: string, message: string, fields: () => object): void
  allowed(message: string, fields: () => object): void
}

export function createDecisionLog({ write, now, choice, claims }: DecisionLogOptions): DecisionLog {
  const limit = createLogLimit(now)
  let untold = 0
  return {
    claims,
    refused(key, message, fields) {
      if (!choice.refusals) return
      const leftOut = limit.take(key)
      if (leftOut !== undefined) write(message, { ...fields(), leftOut })
    },
    allowed(message, fields) {
      if (choice.oneAllowedOf === 0) return
      untold += 1
      if (untold < choice.oneAllowedOf) return
      untold = 0
      write(message, fields())
    },
  }
}

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
const LOOKS_LIKE_A_TOKEN = /eyJ[\w-]*\.[\w-]+(?:\.[\w-]*)*/g
const HIDDEN = '[token]'

/** Truncates a text and hides the credentials of this request in it. */
export type Hide = (text: string) => string

export function hider({ headers }: Pick<RequestFacts, 'headers'>): Hide {
  const words = ['authorization', 'proxy-authorization', 'cookie']
    .flatMap((name) => [headers.get(name) ?? []].flat())
    .flatMap((value) => value.split(/[\s,;=]+/))
    .filter((word) => word.length >= MIN_SECRET)
  return (text) => {
    const plain = words.reduce((rest, word) => rest.replaceAll(word, HIDDEN), text)
    return plain.replace(LOOKS_LIKE_A_TOKEN, HIDDEN).slice(0, MAX_TEXT)
  }
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
  const trace = readTraceparent(traceparent ?? oneOf(headers.get(TRACEPARENT)))
  const [path = ''] = pathAndQuery.split(/[?#]/, 1)
  return {
    ...(id !== undefined && { requestId: hide(id) }),
    ...(trace && { traceId: trace.traceId, spanId: trace.spanId }),
    ...{ method: hide(method), host: hide(host), path: hide(path) },
  }
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

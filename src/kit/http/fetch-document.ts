// Fetches a wanted document from the first of its targets that answers with one.

import { isJsonObject, isJsonWithin, type JsonObject, parseJson } from '../../model/json.js'
import type { RemoteTarget, WantedDocument } from '../../model/remote-target.js'
import { err, ok, type Result } from '../result.js'
import { describeFailure } from './connect/remote-failure.js'
import type { CallRemote } from './http-call.js'
import { maxAgeOf } from './refresh-times.js'

const MAX_LEVELS = 32
/** Maximum JSON values in a document. The largest key sets have some thousands. */
const MAX_VALUES = 20_000

/** A fetched document. */
export interface Fetched {
  readonly document: JsonObject
  /** Whether pages of every origin may read it (Fetch standard, CORS check); only for discovery documents. */
  readonly isOpenToPages?: boolean
  /** Maximum age from Cache-Control. */
  readonly maxAgeMs?: number | undefined
}

/** Fetches a document. The error is a sentence without any part of an answer. Never rejects unless callRemote does. */
export async function fetchDocument(
  wanted: WantedDocument,
  callRemote: CallRemote,
  signal: AbortSignal,
): Promise<Result<Fetched, string>> {
  const problems: string[] = []
  for (const target of wanted.targets) {
    const attempt = await fetchTarget(target, wanted.kind, callRemote, signal)
    if (attempt.ok) return attempt
    problems.push(wanted.targets.length > 1 ? `${target.url}: ${attempt.error}` : attempt.error)
    if (signal.aborted) break
  }
  return err(problems.length === 0 ? 'there is no URL to fetch it from' : problems.join('; '))
}

async function fetchTarget(
  target: RemoteTarget,
  kind: WantedDocument['kind'],
  callRemote: CallRemote,
  signal: AbortSignal,
): Promise<Result<Fetched, string>> {
  const isDiscovery = kind === 'Discovery'
  const answer = await callRemote(target, {
    method: 'GET',
    signal,
    // Many providers send CORS headers only to requests with an Origin.
    ...(isDiscovery ? { headers: { origin: ANY_PAGE } } : {}),
  })
  if (!answer.ok) return err(describeFailure(answer.error))
  const { status, headers, body } = answer.value
  if (status !== 200) return err(`HTTP ${status}`)
  if (!isJsonWithin(body, MAX_VALUES, MAX_LEVELS))
    return err('the answer is nested too deeply, or holds too many values')
  const document = parseJson(body)
  if (document === undefined) return err('the answer is not JSON')
  if (!isJsonObject(document)) return err('the answer is not a JSON object')
  const problem = kind === 'KeySet' ? keySetProblem(document) : discoveryProblem(document)
  return problem === undefined
    ? ok({
        document,
        ...(isDiscovery ? { isOpenToPages: isOpen(headers['access-control-allow-origin']) } : {}),
        maxAgeMs: maxAgeOf(headers['cache-control']),
      })
    : err(problem)
}

/** An origin that no page can have (RFC 6761 section 6.4): a provider that allows it allows all. */
const ANY_PAGE = 'https://page.invalid'

const isOpen = (allowed: string | undefined): boolean => allowed === '*' || allowed === ANY_PAGE

/**
 * Checks a key set (RFC 7517 section 5). An empty array is valid: it revokes every key. An entry that is no object costs
 * itself alone; an array of nothing else is no key set.
 */
const keySetProblem = ({ keys }: JsonObject): string | undefined =>
  Array.isArray(keys) && (keys.length === 0 || keys.some(isJsonObject))
    ? undefined
    : 'the answer is not a key set: "keys" is not an array of objects'

/** Checks a discovery document (RFC 8414 section 2, OpenID Connect Discovery 1.0 section 3). */
const discoveryProblem = ({ issuer }: JsonObject): string | undefined =>
  typeof issuer === 'string' && issuer !== ''
    ? undefined
    : 'the answer is not a discovery document: "issuer" is not a string'

// Runs one check: open, find the entry, check the path, authenticate, authorize, encode. Never throws; failures deny.

import { hider, type RequestFacts } from '../kit/decision-log.js'
import { errorKind } from '../kit/errors.js'
import { createLogLimit, type LogLimit } from '../kit/log-limit.js'
import { aboutRequest, NO_PROOF, probeAnswerText, type ProbeSigns } from '../kit/probe-signs.js'
import {
  sentContext,
  type SpanAttributes,
  TRACEPARENT,
  type Tracer,
  TRACESTATE,
} from '../kit/tracing.js'
import type { AuthzEntry } from '../model/authz-entry.js'
import { PROBE_HEADER, PROBED_HEADER, RELAY_COOKIES_KEY } from '../model/names.js'
import { audited } from './audit.js'
import type { CompiledEntry } from './authz-table.js'
import { createBodyLine } from './body-line.js'
import { CostlyExpressions } from './cel/costly-expressions.js'
import type { CheckCall, CheckContext, CheckOptions } from './check-context.js'
import {
  type CheckEnvelope,
  openCheckRequest,
  readCheckRequest,
  requestIdIn,
} from './check-request.js'
import { encodeDecision } from './check-response.js'
import { CHECK_STEPS, decide } from './decide.js'
import { CALL_HEADERS, decidedCalls } from './decided-calls.js'
import { type Decision, type Refusal, refuseProbe, refuseUnchecked } from './decision.js'
import { decisionPlace, logDecision, logUnknown } from './decision-line.js'
import { HeaderNames } from './header-names.js'
import { mcpSpanAttributes } from './mcp/span-attributes.js'
import { removeOwnCookies } from './own-cookies.js'
import { AUDITS, KeyLookUps } from './token/fresh-keys.js'

/**
 * Checks one encoded CheckRequest and returns the encoded CheckResponse. gateway: the only Gateway that the caller serves,
 * for which the routes of others are unknown; absent: the caller may ask about every route.
 */
export type Check = (
  bytes: Buffer,
  call: CheckCall,
  gateway?: string,
) => Uint8Array | Promise<Uint8Array>

/**
 * The check gives an encoded CheckResponse; a promise only to fetch a key, use a large key, read a long body or take turns
 * with other costly rules.
 */
export function createCheck(options: CheckOptions): Check {
  const limit = createLogLimit(options.now)
  const context: CheckContext = {
    options,
    limit,
    lookUps: new KeyLookUps(options),
    bodies: createBodyLine(),
    costly: new CostlyExpressions(options.ruleBudget),
    isAudit: false,
    steps: CHECK_STEPS,
  }
  // Audits have their own queues: they must not take the places of checks.
  const auditing: CheckContext = {
    ...context,
    lookUps: new KeyLookUps(options, AUDITS),
    bodies: createBodyLine(),
    isAudit: true,
    costly: new CostlyExpressions(options.ruleBudget),
  }
  const ofHeads: CheckContext = { ...context, isHead: true }
  return (bytes, call, gateway) => {
    let asked: Asked = { context, auditing, bytes, call, gateway, start: performance.now() }
    let entry: CompiledEntry | undefined
    try {
      const envelope = openCheckRequest(bytes)
      if (envelope.key === RELAY_COOKIES_KEY) return removeOwnCookies(envelope)
      if (envelope.isHead) asked = { ...asked, context: ofHeads }
      entry = envelope.key === undefined ? undefined : options.table().get(envelope.key, gateway)
      if (entry === undefined) return finish(asked, UNKNOWN_ROUTE, undefined, envelope.key)
      const probe = options.probes && probeRefusalOf(options.probes, envelope, entry)
      if (probe?.isOwn === true) return encodeDecision(probe.refusal, true)
      const decision = probe?.refusal ?? decide(asked.context, envelope, entry, call)
      return decision instanceof Promise
        ? finishLate(asked, decision, entry)
        : finish(asked, decision, entry)
    } catch (error) {
      const decision = error instanceof RangeError ? MALFORMED : failed(context, error)
      return finish(asked, decision, entry)
    }
  }
}

/** At documents, ext_proc refuses probes. A route that is only audited proves nothing. */
function probeRefusalOf(
  probes: ProbeSigns,
  envelope: CheckEnvelope,
  { entry }: CompiledEntry,
): ProbeRefusal | undefined {
  return entry.servesDocuments === true ? undefined : probeRefusal(probes, envelope, entry)
}

interface Asked {
  readonly context: CheckContext
  /** The context of audits. */
  readonly auditing: CheckContext
  /** The CheckRequest. */
  readonly bytes: Buffer
  readonly call: CheckCall
  readonly gateway: string | undefined
  /** Start time, in milliseconds of performance.now(). */
  readonly start: number
}

async function finishLate(
  asked: Asked,
  decision: Promise<Decision>,
  entry: CompiledEntry,
): Promise<Uint8Array> {
  try {
    return finish(asked, await decision, entry)
  } catch (error) {
    return finish(asked, failed(asked.context, error), entry)
  }
}

/** status 1 (empty: OK), ok_response 3 (empty). */
const HEAD_ALLOWED = Uint8Array.of(0x0a, 0, 0x1a, 0)

const UNKNOWN_ROUTE = refuseUnchecked('unknown-route')
const MALFORMED = refuseUnchecked('malformed-check')

function failed(context: CheckContext, error: unknown): Decision {
  try {
    logFailure(context, error)
  } catch {
    // A clock or a log that fails must not keep the answer from Envoy.
  }
  return refuseUnchecked('internal-error')
}

/** Logs only the kind of the error: its message may contain data of the request. */
function logFailure({ options, limit }: CheckContext, error: unknown): void {
  const kind = errorKind(error)
  const leftOut = limit.take(`failed ${kind}`)
  if (leftOut !== undefined) options.logger.error({ error: kind, leftOut }, 'a check failed')
}

/** Encodes a decision, counts it and logs it. */
function finish(
  asked: Asked,
  decided: Decision,
  entry: CompiledEntry | undefined,
  key?: string,
): Uint8Array {
  const { context, auditing, start } = asked
  const { options, limit } = context
  // The check of the body follows, which counts. Nothing is changed before it.
  if (context.isHead === true && decided.type === 'allow') return HEAD_ALLOWED
  const decision = entry?.audit === undefined ? decided : audited(auditing, asked, entry, decided)
  const bytes = encodeDecision(decision, entry?.jwt?.forwardToken ?? true, entry?.entry.seal, () =>
    requestIdIn(asked.bytes),
  )
  try {
    record(options, decision, entry, (performance.now() - start) / 1000)
    if (entry === undefined) {
      warnOfUnknown(options, limit, decision, { key, gateway: asked.gateway })
      if (options.decisions !== undefined && decision.type === 'reply')
        logUnknown(options.decisions, asked, decision, key)
    } else if (options.decisions !== undefined)
      logDecision(options.decisions, asked, entry.entry, decision, options)
    if (options.tracer !== undefined) traceCheck(options.tracer, asked, entry?.entry, decision)
  } catch {
    // Bookkeeping must not change a decision. Nothing is reported, as the logger itself may have failed.
  }
  return bytes
}

function record(
  { logger, metrics }: CheckOptions,
  { type, reason }: Decision,
  entry: CompiledEntry | undefined,
  seconds: number,
): void {
  const route = entry?.entry.route ?? 'unknown'
  const decision = type === 'allow' ? 'allow' : 'deny'
  metrics.observe(route, decision, reason, seconds)
  if (entry !== undefined) logger.debug({ route, decision, reason, seconds }, 'check')
}

const MAX_LOGGED_KEY = 200

/** Limited: an Envoy that others configure, or anyone who can reach the address, may cause any number of these. */
function warnOfUnknown(
  { logger }: CheckOptions,
  limit: LogLimit,
  { reason }: Decision,
  { key, gateway }: { readonly key: string | undefined; readonly gateway: string | undefined },
): void {
  const shown = key?.slice(0, MAX_LOGGED_KEY)
  const leftOut = limit.take(`${reason} ${gateway ?? ''} ${shown ?? ''}`)
  if (leftOut === undefined) return
  logger.warn(
    {
      reason,
      ...(shown !== undefined && { key: shown }),
      ...(gateway !== undefined && { gateway }),
      leftOut,
    },
    'a check names an unknown route',
  )
}

// Creates the span of a check. The request is parsed a second time, but only if the span is exported.

const NAME = 'gatehouse.check'
const HEADERS = new HeaderNames([
  TRACEPARENT,
  TRACESTATE,
  'x-request-id',
  'authorization',
  'proxy-authorization',
  'cookie',
  ...CALL_HEADERS,
])

/** A request and its call, as received. */
export interface CheckedRequest {
  /** The CheckRequest. */
  readonly bytes: Buffer
  readonly call: CheckCall
  /** When it began, in milliseconds of performance.now(). */
  readonly start: number
}

/** Records a check. entry: undefined if the route is not known. @throws RangeError when the CheckRequest is malformed. */
function traceCheck(
  tracer: Tracer,
  { bytes, call, start }: CheckedRequest,
  entry: AuthzEntry | undefined,
  decision: Decision,
): void {
  const request = readCheckRequest(openCheckRequest(bytes), HEADERS)
  const ofEnvoy = sentContext((name) => call.metadata?.(name) ?? [])
  const sent =
    ofEnvoy.parent === undefined ? sentContext((name) => allOf(request.headers.get(name))) : ofEnvoy
  const span = tracer.start(NAME, {
    ...(tracer.propagates && sent),
    kind: 'server',
    startedAt: start,
  })
  const isFault = decision.type === 'reply' && decision.reply.status >= 500
  if (span.isRecording) {
    const facts = { ...request, pathAndQuery: request.path }
    span.set({ ...requestAttributes(facts), ...decisionAttributes(decision, entry, facts) })
  }
  span.end(isFault ? decision.reason : undefined)
}

const allOf = (value: string | readonly string[] | undefined): readonly string[] =>
  value === undefined ? [] : typeof value === 'string' ? [value] : value

const oneOf = (value: string | readonly string[] | undefined): string | undefined =>
  typeof value === 'string' ? value : undefined

/** Returns the attributes of a request: the path without its query, and no credentials. */
function requestAttributes(facts: RequestFacts): SpanAttributes {
  const hide = hider(facts)
  const { method, host, pathAndQuery, headers } = facts
  const [path = ''] = pathAndQuery.split(/[?#]/, 1)
  const id = oneOf(headers.get('x-request-id'))
  return {
    'http.request.method': hide(method),
    'server.address': hide(host),
    'url.path': hide(path),
    'gatehouse.request_id': id === undefined ? undefined : hide(id),
  }
}

function decisionAttributes(
  decision: Decision,
  entry: AuthzEntry | undefined,
  facts: RequestFacts,
): SpanAttributes {
  const place = entry === undefined ? {} : decisionPlace(entry, decision)
  return {
    'gatehouse.decision': decision.type === 'allow' ? 'allow' : 'deny',
    'gatehouse.reason': decision.reason,
    'gatehouse.route': entry?.route,
    'gatehouse.policy': place.policy,
    'gatehouse.rule': place.rule,
    'http.response.status_code': decision.type === 'reply' ? decision.reply.status : undefined,
    ...mcpSpanAttributes(decidedCalls(decision, facts), hider(facts)),
  }
}

// Refuses the probes of a mesh's controller, which no backend may see, and proves that the route asks Gatehouse. A
// made-up probe is refused too, without a proof.

/** The refusal of a probe. */
interface ProbeRefusal {
  readonly refusal: Refusal
  /** Whether the probe is a replica's own. */
  readonly isOwn: boolean
}

const NAMES = new HeaderNames([PROBE_HEADER])

/**
 * Returns undefined for a request that is no probe. isAudited: the route proves nothing here, but a guard behind adds its own
 * proof to the answer. @throws RangeError when the message is malformed.
 */
function probeRefusal(
  signs: ProbeSigns,
  envelope: CheckEnvelope,
  { key, isAudited }: Pick<AuthzEntry, 'key' | 'isAudited'>,
): ProbeRefusal | undefined {
  // Most requests have the name nowhere: looking for it costs less than reading headers.
  if (!envelope.reader.buffer.includes(PROBE_HEADER)) return undefined
  const { headers, host, path } = readCheckRequest(envelope, NAMES)
  const value = headers.get(PROBE_HEADER)
  if (value === undefined) return undefined
  const question = typeof value === 'string' ? value : ''
  const proof = signs.prove(question, 'ext_authz', aboutRequest(key, host, path))
  if (proof === undefined) return { refusal: refuseProbe(), isOwn: false }
  const proofs = { ext_authz: isAudited === true ? NO_PROOF : proof, ext_proc: NO_PROOF }
  const answer = probeAnswerText({ question, proofs })
  return { refusal: refuseProbe([PROBED_HEADER, answer]), isOwn: true }
}

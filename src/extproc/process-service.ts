// The ExternalProcessor service: each stream gets the processor for its route's table entry, looked up once, at its
// start.

import { createRelayDeps } from '../addons/relay/extproc/relay-deps.js'
import type { SessionSeal } from '../extauthz/oauth/session-seal.js'
import {
  type CallerFields,
  callerFields,
  type DecisionLog,
  hider,
  requestFields,
  traceFields,
} from '../kit/decision-log.js'
import { errorKind } from '../kit/errors.js'
import type { CallRemote } from '../kit/http/http-call.js'
import { tracedCall } from '../kit/http/traced-call.js'
import { createLogLimit, type LogLimit } from '../kit/log-limit.js'
import type { Logger } from '../kit/logger.js'
import {
  NO_PROOF,
  type ProbeAnswer,
  probeAnswerText,
  type ProbeSigns,
  readProbeAnswer,
} from '../kit/probe-signs.js'
import { sentContext, type Trace, type Tracer } from '../kit/tracing.js'
import {
  CLIENT_METADATA_KEY,
  namespaceIn,
  PROBE_HEADER,
  PROBED_HEADER,
  ROUTE_METADATA_KEY,
} from '../model/names.js'
import type { UncheckedBodyEntry } from '../model/proc-entry.js'
import { ExternalProcessor } from '../wire/grpc/generated/envoy/service/ext_proc/v3/external_processor_pb.js'
import type { Peer } from '../wire/grpc/peer.js'
import type { GrpcService, StreamCall, StreamListener } from '../wire/grpc/service.js'
import { Status } from '../wire/grpc/status.js'
import { createGuardAudit } from './guard/guard-audit.js'
import { createGuardProcessor } from './guard/guard-processor.js'
import { createListsProcessor } from './lists/lists-processor.js'
import { createMcpGuardAudit } from './mcp/mcp-guard-audit.js'
import { createMcpGuardProcessor } from './mcp/mcp-guard-processor.js'
import { type WithheldSession, withSealedSessions } from './mcp/sealed-sessions.js'
import { createSessionsProcessor } from './mcp/sessions-processor.js'
import { createUncheckedBody, type RefusedBody } from './mcp/unchecked-body.js'
import type { CompiledProcEntry, ProcTable } from './proc-table.js'
import type { NamedStream, ReadFirstMessage } from './route-key.js'
import { withFirstMessage } from './session/first-message.js'
import { HELD_FOR_EACH } from './session/held-bytes.js'
import { errorReply, immediateResponse } from './session/immediate-response.js'
import { loggedRequest } from './session/logged-request.js'
import { createOpenStreams } from './session/open-streams.js'
import type { HeadersPart } from './session/process-message.js'
import { type FailedStream, runProcessStream } from './session/process-stream.js'
import { type Processor, type ProcessorStream, UnexpectedMessage } from './session/processor.js'
import { createSlots } from './session/slots.js'
import { failureOf, refusedStream } from './session/stream-refusal.js'
import type { SharedLimits } from './session/tally.js'
import type { GuardDeps } from './webhook/guard-deps.js'
import { createBudgetLog, placeOfWebhooks } from './webhook/refusal-log.js'
import {
  createWellKnownProcessor,
  type WellKnownProcessorDeps,
} from './well-known/well-known-processor.js'

/** What the ExternalProcessor service is created with. */
export interface ProcessServiceDeps {
  /** gateway: the only Gateway that the caller serves; absent: it may use all entries. */
  table(): {
    get(key: string, gateway?: string): CompiledProcEntry | undefined
    readonly onlyNamespace?: ProcTable['onlyNamespace']
  }
  /** Returns the only Gateway that the peer serves; undefined: a peer with other rights. Absent: all have these. */
  readonly gatewayOf?: ((peer: Peer) => string | undefined) | undefined
  readonly callRemote: CallRemote
  /** Calls addresses that clients supply, if public or allowed by the operator. Absent: none is called. */
  readonly callPublic?: CallRemote
  /** Limits shared with other processes. Absent: only this process calls providers. */
  readonly shared?: SharedLimits | undefined
  /** Finds the route of a stream without call metadata. Absent: such a stream ends with an error. */
  readonly readFirstMessage?: ReadFirstMessage | undefined
  readonly guardrails: Omit<
    GuardDeps,
    'now' | 'isServed' | 'logger' | 'limit' | 'headerBudgetExceeded'
  >
  /** Absent: no header makes a request a probe. */
  readonly probes?: ProbeSigns | undefined
  /** Updates gatehouse_open_streams; type: that of the table's entry. */
  readonly openStreams?: { opened(type: string): void; closed(type: string): void }
  /** Counts calls of providers that are not made because there are too many. */
  readonly budgetReached?: (budget: 'provider-calls') => void
  /** Milliseconds since the epoch. */
  now(): number
  readonly logger: Logger
  /** Absent: nothing is traced. */
  readonly tracer?: Tracer | undefined
}

/**
 * Maximum concurrent proxied registrations, or token calls, to one provider. A person causes one per login; more than
 * this is an attack or a broken client.
 */
const MAX_REGISTRATIONS = 64

/** Creates the ExternalProcessor service. */
export function createProcessService(deps: ProcessServiceDeps): GrpcService {
  const streams = createOpenStreams()
  const limit = createLogLimit(() => deps.now())
  const guardDeps = guardDepsOf(deps, limit)
  const now = (): number => deps.now()
  const onFull = (): void => deps.budgetReached?.('provider-calls')
  const slots = createSlots(MAX_REGISTRATIONS, deps.shared?.tallyOf, onFull)
  const relay = createRelayDeps({ ...deps, slots, now, onFull })
  const parts: ProcessorDeps = {
    ...deps,
    slots,
    now,
    relay,
    decisions: deps.guardrails.decisions,
    bodyTimeoutMs: deps.guardrails.bodyTimeoutMs,
  }

  const processAs = (call: StreamCall, named: NamedStream): StreamListener => {
    const gateway = deps.gatewayOf?.(call.peer)
    const entry = entryOf(named.keys, deps.table(), gateway)
    if (entry === undefined) {
      warnOfUnknown(deps.logger, limit, gateway)
      logUnknownRoute(lineDepsOf(call, deps), named.keys, gateway)
      return refuseUnknown(call)
    }
    const { stream, listener } = runProcessStream(call, {
      createProcessor: (own) => {
        const traced = tracedDeps(call, parts, guardDeps)
        return createProcessor(entry, own, traced.parts, traced.guardDeps, named)
      },
      onError: (error) => logError({ ...deps, limit }, entry, error),
      onFailed: (failed) => logFailedStream(lineDepsOf(call, deps), entry, failed),
      onEnd: () => {
        close()
        deps.openStreams?.closed(entry.type)
      },
    })
    const close = streams.add(stream)
    deps.openStreams?.opened(entry.type)
    return listener
  }
  const process = (call: StreamCall): StreamListener => {
    const keys = call.metadata(ROUTE_METADATA_KEY)
    const [client = ''] = call.metadata(CLIENT_METADATA_KEY)
    const { readFirstMessage } = deps
    return keys.length > 0 || readFirstMessage === undefined
      ? processAs(call, { keys, client })
      : withFirstMessage(call, readFirstMessage, (named) => processAs(call, named))
  }

  return {
    name: ExternalProcessor.typeName,
    methods: {
      Process: { type: 'stream', open: process, refusal },
    },
    drain: (timeoutMs) => streams.drain(timeoutMs),
  }
}

const refusal = (error: unknown): Uint8Array => refusedStream(failureOf(error))

function warnOfUnknown(
  logger: Pick<Logger, 'warn'>,
  limit: Pick<LogLimit, 'take'>,
  gateway: string | undefined,
): void {
  const leftOut = limit.take(`unknown ${gateway ?? ''}`)
  if (leftOut === undefined) return
  const named = gateway === undefined ? {} : { gateway }
  logger.warn({ ...named, leftOut }, 'ext_proc stream for an unknown route rejected')
}

/** Returns a listener for what Envoy has sent already. */
function refuseUnknown(call: StreamCall): StreamListener {
  call.send(refusedStream('unknown-route'))
  call.end(Status.UNAVAILABLE, 'the route is not known')
  const ignore = (): void => undefined
  return { onMessage: ignore, onEnd: ignore, onCancel: ignore, onDrain: ignore }
}

const guardDepsOf = (deps: ProcessServiceDeps, limit: LogLimit): GuardDeps => ({
  ...deps.guardrails,
  headerBudgetExceeded: createBudgetLog(deps.logger, limit, (webhook) =>
    deps.guardrails.metrics.headerBudgetExceeded?.(webhook),
  ),
  isServed: (key) => deps.table().get(key) !== undefined,
  now: () => deps.now(),
  logger: deps.logger,
  limit,
})

const lineDepsOf = (call: StreamCall, { guardrails }: ProcessServiceDeps) => ({
  decisions: guardrails.decisions,
  traceparent: sentContext((name) => call.metadata(name)).parent,
})

interface TracedDeps {
  readonly parts: ProcessorDeps
  readonly guardDeps: GuardDeps
}

/** Returns the deps of one stream, with the context that Envoy sent with its call. */
function tracedDeps(call: StreamCall, parts: ProcessorDeps, guardDeps: GuardDeps): TracedDeps {
  const { tracer } = parts
  const sent = sentContext((name) => call.metadata(name))
  const { parent: traceparent } = sent
  if (tracer === undefined && traceparent === undefined) return { parts, guardDeps }
  const own = { ...parts, traceparent }
  if (tracer === undefined) return { parts: own, guardDeps: { ...guardDeps, traceparent } }
  const trace: Trace = { tracer, ...(tracer.propagates && sent) }
  return { parts: tracedParts(own, trace), guardDeps: { ...guardDeps, traceparent, trace } }
}

/** Traces calls to the provider as parts of the request; not those for clients' documents, which requests share. */
function tracedParts(parts: ProcessorDeps, { tracer, ...sent }: Trace): ProcessorDeps {
  const callRemote = tracedCall(() => tracer, parts.callRemote, sent)
  return { ...parts, callRemote, relay: { ...parts.relay, callRemote } }
}

function entryOf(
  keys: readonly string[],
  table: ReturnType<ProcessServiceDeps['table']>,
  gateway: string | undefined,
): CompiledProcEntry | undefined {
  const [key] = keys
  return keys.length === 1 && key !== undefined ? table.get(key, gateway) : undefined
}

type ProcessorDeps = ProcessServiceDeps & WellKnownProcessorDeps

function createProcessor(
  entry: CompiledProcEntry,
  stream: ProcessorStream,
  deps: ProcessorDeps,
  guardDeps: GuardDeps,
  { keys: [key = ''], client }: NamedStream,
): Processor {
  const probed = (processor: Processor): Processor =>
    deps.probes === undefined ? processor : withProbes(processor, stream, deps.probes, key)
  if (entry.type === 'well-known')
    return probed(createWellKnownProcessor(entry, stream, deps, client))
  const own = exchangeDeps(entry, deps.table(), guardDeps)
  const sealed = (
    { route, session }: { readonly route: string; readonly session?: SessionSeal },
    create: (sealing: ProcessorStream) => Processor,
  ): Processor =>
    session === undefined
      ? create(stream)
      : withSealedSessions(
          stream,
          {
            seal: session,
            onWithheld: (withheld) =>
              logWithheldSession(own, { route, policy: session.policy }, withheld),
          },
          create,
        )
  switch (entry.type) {
    case 'lists':
      return probed(sealed(entry, (sealing) => createListsProcessor(entry, sealing, own)))
    case 'sessions':
      return probed(sealed(entry, createSessionsProcessor))
    case 'guard':
      return probed(createGuardProcessor(entry, stream, own))
    case 'guard-audit':
      return probed(createGuardAudit(entry, stream, own))
    case 'mcp-guard':
      return probed(sealed(entry, (sealing) => createMcpGuardProcessor(entry, sealing, own)))
    case 'unchecked-body':
      return createUncheckedBody(entry, stream, {
        ...own,
        onRefused: (refused) => logRefusedBody(own, entry, refused),
      })
    case 'mcp-guard-audit':
      return probed(createMcpGuardAudit(entry, stream, own))
  }
}

/** Logs only the kind of an unexpected error: its message may contain the data that caused it. */
function logError(
  { logger, limit }: { readonly logger: Logger; readonly limit: LogLimit },
  { route }: CompiledProcEntry,
  error: unknown,
): void {
  const isUnexpected = error instanceof UnexpectedMessage
  const kind = isUnexpected ? error.message : errorKind(error)
  const leftOut = limit.take(`stream ${route} ${kind}`)
  if (leftOut === undefined) return
  if (isUnexpected) logger.warn({ route, problem: kind, leftOut }, 'ext_proc stream ended')
  else
    logger.error({ route, error: kind, leftOut }, 'ext_proc stream failed; the request was denied')
}

// Gives each exchange its share of the bytes that bodies may hold: that of its namespace, and of its caller.

/** Returns the deps of one exchange on a route. table: those of all routes. */
export function exchangeDeps(
  entry: Exclude<CompiledProcEntry, { readonly type: 'well-known' }>,
  table: Partial<Pick<ProcTable, 'onlyNamespace'>>,
  deps: GuardDeps,
): GuardDeps {
  const namespace = namespaceIn(entry.route)
  const isUnchecked = entry.type === 'unchecked-body'
  // A body precedes the check of its token, so all callers of a route are known, or none is.
  let isKnown = isUnchecked && entry.isAnonymous !== true
  const heldBytes = deps.heldBytes.forOwner({
    namespace,
    isAlone: table.onlyNamespace === namespace,
    isKnown: () => isKnown,
    roomOfOne: isUnchecked ? entry.maxBodyBytes : HELD_FOR_EACH * deps.maxBodyBytes,
  })
  return { ...deps, heldBytes, callerIsKnown: () => (isKnown = true) }
}

// Refuses the probes of a mesh's controller before the processor of a route sees them, and proves that the route passes
// ext_proc. ext_authz may have refused a probe already: its answer passes here, and the proof is added to it.

/** @param key the key of the route. */
export function withProbes(
  inner: Processor,
  stream: ProcessorStream,
  signs: ProbeSigns,
  key: string,
): Processor {
  let isRefused = false
  const refuse = ({ question, proofs }: ProbeAnswer): void => {
    isRefused = true
    const proof = signs.prove(question, 'ext_proc', [key])
    const answer = probeAnswerText({ question, proofs: { ...proofs, ext_proc: proof ?? NO_PROOF } })
    const headers: Record<string, string> = proof === undefined ? {} : { [PROBED_HEADER]: answer }
    stream.send(immediateResponse(errorReply(403, TEXTS, 'gatehouse_probe', headers)))
  }
  return {
    requestHeaders: (message, first) => {
      const question = headerOf(message, PROBE_HEADER)
      if (question === undefined) return inner.requestHeaders(message, first)
      return refuse({ question, proofs: { ext_authz: NO_PROOF, ext_proc: NO_PROOF } })
    },
    responseHeaders: (message, first) => {
      const answer = readProbeAnswer(headerOf(message, PROBED_HEADER) ?? '')
      return answer === undefined ? inner.responseHeaders(message, first) : refuse(answer)
    },
    requestBody: (message) => (isRefused ? undefined : inner.requestBody(message)),
    requestTrailers: () => (isRefused ? undefined : inner.requestTrailers()),
    responseBody: (message) => (isRefused ? undefined : inner.responseBody(message)),
    responseTrailers: () => (isRefused ? undefined : inner.responseTrailers()),
    isDone: () => isRefused || inner.isDone(),
  }
}

const TEXTS = ['forbidden', 'Forbidden: probes are never served'] as const

/** Values of a repeated header are joined: no question and no answer has a comma. */
const headerOf = ({ headers }: HeadersPart, name: string): string | undefined =>
  headers.get(name)?.join(',')

// Writes lines of the decision log about requests that are denied because an ext_proc stream has failed, or its body is
// not passed on.

const MESSAGE = 'stream refusal'

interface LineDeps {
  readonly decisions?: DecisionLog | undefined
  /** What Envoy sent with its own call. */
  readonly traceparent?: string | undefined
}

/** Logs a stream that has failed. Copies for audits deny nothing, and have no line. */
function logFailedStream(
  { decisions, traceparent }: LineDeps,
  entry: CompiledProcEntry,
  { reason, problem, phase, headers }: FailedStream,
): void {
  if (entry.type === 'guard-audit' || entry.type === 'mcp-guard-audit') return
  const { route } = entry
  // The status of a reply may have been sent before.
  const status = phase === 'request' ? { status: 503 } : {}
  const key = { decision: 'deny', reason, route, phase, problem }
  const fields = (): object => {
    const request = loggedRequest(headers)
    return {
      decision: 'deny',
      reason,
      ...status,
      route,
      phase,
      problem,
      ...policyOf(entry, phase),
      ...requestFields(request, hider(request), traceparent),
    }
  }
  decisions?.refused({ message: MESSAGE, key, fields })
}

const policyOf = (entry: CompiledProcEntry, phase: FailedStream['phase']): object | undefined =>
  'request' in entry ? placeOfWebhooks(entry[phase]) : entry.policy

/** Logs the body of a message that is not passed on to its check. */
function logRefusedBody(
  { decisions, traceparent }: LineDeps,
  { route, policy }: Pick<UncheckedBodyEntry, 'route' | 'policy'>,
  { reason, status, headers }: RefusedBody,
): void {
  const key = { decision: 'deny', reason, status, route }
  const fields = (): object => {
    const request = loggedRequest(headers)
    return { ...key, ...policy, ...requestFields(request, hider(request), traceparent) }
  }
  decisions?.refused({ message: 'body refusal', key, fields })
}

/** Logs a reply that its caller does not get, as its session cannot be bound. policy: NAMESPACE/NAME. */
function logWithheldSession(
  { decisions, traceparent }: LineDeps,
  { route, policy }: { readonly route: string; readonly policy: string },
  { reason, status, problem, headers, claims }: WithheldSession,
): void {
  const key = { decision: 'deny', reason, status, route }
  const request = loggedRequest(headers)
  const hide = hider(request)
  const caller = (asked?: readonly string[]): CallerFields | undefined =>
    claims && callerFields(claims, { asked, verified: true }, hide)
  decisions?.refused({
    message: 'session refusal',
    key,
    caller,
    fields: () => ({
      ...key,
      problem,
      policy,
      // Where only sessions are sealed, Envoy sends the reply's headers alone.
      ...(headers.size === 0
        ? traceFields(traceparent)
        : requestFields(request, hide, traceparent)),
      ...caller(decisions.claims),
    }),
  })
}

/**
 * Logs a stream whose route is not known, before any of its messages. keys: as Envoy sent them. gateway: the only Gateway
 * that the caller serves.
 */
function logUnknownRoute(
  { decisions, traceparent }: LineDeps,
  keys: readonly string[],
  gateway: string | undefined,
): void {
  const key = { decision: 'deny', reason: 'unknown-route', status: 503, route: 'unknown' }
  const fields = (): object => {
    const hide = hider({ headers: new Map() })
    return {
      ...key,
      key: hide(keys.join(' ')),
      ...(gateway !== undefined && { gateway }),
      ...traceFields(traceparent),
    }
  }
  decisions?.refused({ message: MESSAGE, key, fields })
}

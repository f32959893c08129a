// The ExternalProcessor service: each stream gets the processor for its route's table entry, looked up once, at its
// start.

import { errorKind } from '../errors.js'
import { ExternalProcessor } from '../grpc/generated/envoy/service/ext_proc/v3/external_processor_pb.js'
import type { Peer } from '../grpc/peer.js'
import type { GrpcService, StreamCall, StreamListener } from '../grpc/service.js'
import { Status } from '../grpc/status.js'
import { CLIENT_METADATA_KEY, ROUTE_METADATA_KEY } from '../ir/names.js'
import { createLogLimit, type LogLimit } from '../log-limit.js'
import type { Logger } from '../logger.js'
import type { ProbeSigns } from '../probes/probe-signs.js'
import type { CallRemote } from '../remote/http-call.js'
import { tracedCall } from '../remote/traced-call.js'
import { sentContext, type Trace, type Tracer } from '../tracing.js'
import { createGuardAudit } from './guard/guard-audit.js'
import { createGuardProcessor } from './guard/guard-processor.js'
import { createListsProcessor } from './lists/lists-processor.js'
import { createMcpGuardAudit } from './mcp/mcp-guard-audit.js'
import { createMcpGuardProcessor } from './mcp/mcp-guard-processor.js'
import { createUncheckedBody } from './mcp/unchecked-body.js'
import { withProbes } from './probed-processor.js'
import type { CompiledProcEntry } from './proc-table.js'
import { logFailedStream, logRefusedBody, logUnknownRoute } from './refused-stream.js'
import { createRelayDeps } from './relay/relay-deps.js'
import type { NamedStream, ReadFirstMessage } from './route-key.js'
import { withFirstMessage } from './stream/first-message.js'
import { createOpenStreams } from './stream/open-streams.js'
import { runProcessStream } from './stream/process-stream.js'
import { type Processor, type ProcessorStream, UnexpectedMessage } from './stream/processor.js'
import { createSlots } from './stream/slots.js'
import { failureOf, refusedStream } from './stream/stream-refusal.js'
import type { SharedLimits } from './stream/tally.js'
import type { GuardDeps } from './webhook/guard-deps.js'
import { createBudgetLog } from './webhook/refusal-log.js'
import {
  createWellKnownProcessor,
  type WellKnownProcessorDeps,
} from './well-known/well-known-processor.js'

/** What the ExternalProcessor service is created with. */
export interface ProcessServiceDeps {
  /** gateway: the only Gateway that the caller serves; absent: it may use all entries. */
  table(): { get(key: string, gateway?: string): CompiledProcEntry | undefined }
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
    ...{ ...deps, slots, now, relay },
    decisions: deps.guardrails.decisions,
    bodyTimeoutMs: deps.guardrails.bodyTimeoutMs,
  }

  const processAs = (call: StreamCall, named: NamedStream): StreamListener => {
    const gateway = deps.gatewayOf?.(call.peer)
    const entry = entryOf(named.keys, deps.table(), gateway)
    if (entry === undefined) {
      const leftOut = limit.take(`unknown ${gateway ?? ''}`)
      if (leftOut !== undefined)
        deps.logger.warn(
          { ...(gateway !== undefined && { gateway }), leftOut },
          'ext_proc stream for an unknown route rejected',
        )
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
  switch (entry.type) {
    case 'well-known':
      return probed(createWellKnownProcessor(entry, stream, deps, client))
    case 'lists':
      return probed(
        createListsProcessor(entry, stream, {
          maxBodyBytes: guardDeps.maxBodyBytes,
          heldBytes: guardDeps.heldBytes,
          costly: guardDeps.costly,
          ...{ decisions: guardDeps.decisions, traceparent: guardDeps.traceparent },
        }),
      )
    case 'guard':
      return probed(createGuardProcessor(entry, stream, guardDeps))
    case 'guard-audit':
      return probed(createGuardAudit(entry, stream, guardDeps))
    case 'mcp-guard':
      return probed(createMcpGuardProcessor(entry, stream, guardDeps))
    case 'unchecked-body':
      return createUncheckedBody(entry, stream, {
        heldBytes:
          entry.isAnonymous === true
            ? guardDeps.heldBytes.forAnonymous(entry.maxBodyBytes)
            : guardDeps.heldBytes,
        bodyTimeoutMs: guardDeps.bodyTimeoutMs,
        onRefused: (refused) => logRefusedBody(guardDeps, entry, refused),
      })
    case 'mcp-guard-audit':
      return probed(createMcpGuardAudit(entry, stream, guardDeps))
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

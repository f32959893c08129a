// The ExternalProcessor service: each stream gets the processor of its route's table entry, taken once, at its start.

import { status, type Metadata } from '@grpc/grpc-js'
import { EXTERNAL_PROCESSOR, externalProcessorService } from '../grpc/protos.js'
import type { GrpcService } from '../grpc/server.js'
import { ROUTE_METADATA_KEY } from '../ir/names.js'
import { createLogLimit } from '../log-limit.js'
import type { Logger } from '../logger.js'
import type { CallRemote } from '../remote/http-call.js'
import { createOpenStreams } from './stream/open-streams.js'
import { runProcessStream, type ProcessCall } from './stream/process-stream.js'
import type { GuardDeps } from './webhook/ask-webhooks.js'
import { createGuardProcessor } from './guard/guard-processor.js'
import type { CompiledProcEntry, ProcTable } from './proc-table.js'
import { createBudgetLog, createRefusalLog } from './webhook/refusal-log.js'
import { UnexpectedMessage, type Processor, type ProcessorStream } from './stream/processor.js'
import { createSlots } from './stream/slots.js'
import type { RegistrationDeps } from './well-known/registration-reply.js'
import { createWellKnownProcessor } from './well-known/well-known-processor.js'

export interface ProcessServiceDeps {
  table(): Pick<ProcTable, 'get'>
  readonly callRemote: CallRemote
  readonly guardrails: Omit<GuardDeps, 'now' | 'logger' | 'logRefusal' | 'headerBudgetExceeded'>
  /** Milliseconds since the epoch. */
  now(): number
  readonly logger: Logger
}

/** Proxied registrations at a time at one provider. A person begins one at a login; more than these are an attack or a broken client. */
const MAX_REGISTRATIONS = 64

export const createProcessService = (deps: ProcessServiceDeps): GrpcService => {
  const streams = createOpenStreams()
  const limit = createLogLimit(() => deps.now())
  const guardDeps: GuardDeps = {
    ...deps.guardrails,
    headerBudgetExceeded: createBudgetLog(deps.logger, limit, (webhook) =>
      deps.guardrails.metrics.headerBudgetExceeded?.(webhook),
    ),
    now: () => deps.now(),
    logger: deps.logger,
    logRefusal: createRefusalLog(
      deps.logger,
      createLogLimit(() => deps.now()),
    ),
  }
  const slots = createSlots(MAX_REGISTRATIONS)
  const parts: ProcessorDeps = { ...deps, slots, now: () => deps.now() }

  const process = (call: ProcessCall): void => {
    const entry = entryOf(call.metadata, deps.table())
    if (entry === undefined) {
      const leftOut = limit.take('unknown')
      if (leftOut !== undefined)
        deps.logger.warn({ leftOut }, 'ext_proc stream of an unknown route refused')
      call.emit('error', { code: status.UNAVAILABLE, details: 'the route is not known' })
      return
    }
    const stream = runProcessStream(call, {
      createProcessor: (own) => createProcessor(entry, own, parts, guardDeps),
      onError: (error) => logError(deps.logger, entry, error),
      onEnd: () => close(),
    })
    const close = streams.add(stream)
  }

  return {
    name: EXTERNAL_PROCESSOR,
    definition: externalProcessorService,
    implementation: { process },
    drain: (timeoutMs) => streams.drain(timeoutMs),
  }
}

const entryOf = (
  metadata: Metadata,
  table: Pick<ProcTable, 'get'>,
): CompiledProcEntry | undefined => {
  const keys = metadata.get(ROUTE_METADATA_KEY)
  const [key] = keys
  return keys.length === 1 && typeof key === 'string' ? table.get(key) : undefined
}

type ProcessorDeps = ProcessServiceDeps & RegistrationDeps

const createProcessor = (
  entry: CompiledProcEntry,
  stream: ProcessorStream,
  deps: ProcessorDeps,
  guardDeps: GuardDeps,
): Processor => {
  switch (entry.type) {
    case 'well-known':
      return createWellKnownProcessor(entry, stream, deps)
    case 'guard':
      return createGuardProcessor(entry, stream, guardDeps)
  }
}

/** A bug's message may hold what it tripped over, so only its kind is logged. */
const logError = (logger: Logger, { route }: CompiledProcEntry, error: unknown): void => {
  if (error instanceof UnexpectedMessage) {
    logger.warn({ route, problem: error.message }, 'ext_proc stream ended')
    return
  }
  const kind = error instanceof Error ? error.name : typeof error
  logger.error({ route, error: kind }, 'ext_proc stream failed, the request was refused')
}

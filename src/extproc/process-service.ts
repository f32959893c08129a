// The ExternalProcessor service: each stream gets the processor of its route's table entry, taken once, at its start.

import { status, type Metadata, type UntypedServiceImplementation } from '@grpc/grpc-js'
import { ROUTE_METADATA_KEY } from '../ir/names.js'
import type { ProcEntry } from '../ir/proc-entry.js'
import type { Logger } from '../logger.js'
import type { CallRemote } from '../remote/http-call.js'
import { runProcessStream, type ProcessCall, type ProcessStream } from './process-stream.js'
import type { ProcTable } from './proc-table.js'
import { UnexpectedMessage, type Processor, type ProcessorStream } from './processor.js'
import { createWellKnownProcessor } from './well-known-processor.js'

export interface ProcessServiceDeps {
  table(): ProcTable
  readonly callRemote: CallRemote
  /** Milliseconds since the epoch. */
  now(): number
  readonly logger: Logger
}

export interface ProcessService {
  /** For grpc-js, with externalProcessorService of grpc/protos. */
  readonly implementation: UntypedServiceImplementation
  /** Streams that are open. */
  openStreams(): number
  /** Ends every open stream with UNAVAILABLE: at the end of a drain. Never OK, which would let requests pass unprocessed. */
  endAll(): void
}

export const createProcessService = (deps: ProcessServiceDeps): ProcessService => {
  const open = new Set<ProcessStream>()

  const process = (call: ProcessCall): void => {
    const entry = entryOf(call.metadata, deps.table())
    if (entry === undefined) {
      deps.logger.warn({}, 'ext_proc stream of an unknown route refused')
      call.on('error', () => {})
      call.emit('error', { code: status.UNAVAILABLE, details: 'the route is not known' })
      return
    }
    const stream = runProcessStream(call, {
      createProcessor: (own) => createProcessor(entry, own, deps),
      onError: (error) => logError(deps.logger, entry, error),
      onEnd: () => open.delete(stream),
    })
    open.add(stream)
  }

  return {
    implementation: { process },
    openStreams: () => open.size,
    endAll: () => {
      for (const stream of [...open]) stream.fail(status.UNAVAILABLE, 'shutting down')
    },
  }
}

const entryOf = (metadata: Metadata, table: ProcTable): ProcEntry | undefined => {
  const keys = metadata.get(ROUTE_METADATA_KEY)
  const [key] = keys
  return keys.length === 1 && typeof key === 'string' ? table.get(key) : undefined
}

const createProcessor = (
  entry: ProcEntry,
  stream: ProcessorStream,
  deps: ProcessServiceDeps,
): Processor => {
  switch (entry.type) {
    case 'well-known':
      return createWellKnownProcessor(entry, stream, deps)
  }
}

/** A bug's message may hold what it tripped over, so only its kind is logged. */
const logError = (logger: Logger, { route }: ProcEntry, error: unknown): void => {
  if (error instanceof UnexpectedMessage) {
    logger.warn({ route, problem: error.message }, 'ext_proc stream ended')
    return
  }
  const kind = error instanceof Error ? error.name : typeof error
  logger.error({ route, error: kind }, 'ext_proc stream failed, the request was refused')
}

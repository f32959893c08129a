// A worker process: runs checks (ext_authz) and processing (ext_proc) on the sockets that it is handed, from the
// tables that the main process sends.

import type { Socket } from 'node:net'
import { createCalls } from '../../control/fetch/outbound.js'
import { systemCaFile } from '../../control/fetch/system-ca-file.js'
import { isMeshController } from '../../control/publish/mesh.js'
import { KeySetQuestions } from '../../control/workers/key-set-questions.js'
import type {
  FromWorker,
  HandedListener,
  ToWorker,
  WorkerStart,
} from '../../control/workers/messages.js'
import { ToldMetrics } from '../../control/workers/metrics-parts.js'
import { PermitLines } from '../../control/workers/permit-lines.js'
import { createRelayedService, type RelayedService } from '../../control/workers/relayed-service.js'
import { COUNTERS_FD, openCounters } from '../../control/workers/shared-counters.js'
import { createWorkerTables, type WorkerTables } from '../../control/workers/table-changes.js'
import { TableQueue } from '../../control/workers/table-queue.js'
import { TokenQuestions } from '../../control/workers/token-questions.js'
import { createHeldBytes } from '../../extproc/session/held-bytes.js'
import type { Logger } from '../../kit/logger.js'
import { createProbeSigns } from '../../kit/probe-signs.js'
import { runInTurns } from '../../kit/turns.js'
import { createMetrics } from '../../ops/admin/metrics.js'
import { Exports } from '../../ops/exports/exports.js'
import { createMessageBudget } from '../../ops/memory/message-budget.js'
import type { Settings } from '../../ops/settings/settings.js'
import { authenticated } from '../../wire/grpc/authenticated.js'
import type { MessageBudget } from '../../wire/grpc/message-budget.js'
import type { GrpcService } from '../../wire/grpc/service.js'
import { createServing, type SocketServing } from '../../wire/grpc/serving.js'
import { createCheckAndProcess, limitsOf } from '../servers/services.js'

/** A started worker. */
export interface Worker {
  /** Resolves when all tables received so far are in force. */
  tablesTaken(): Promise<void>
  /** Handles a message of the main process; call it in their order. @throws {Error} a bug: the worker cannot go on. */
  receive(message: Exclude<ToWorker, { readonly type: 'start' }>, socket?: Socket): void
}

/** What a worker is started with. */
export interface WorkerDeps {
  readonly logger: Logger
  readonly post: (message: FromWorker) => void
  /** Called when every connection has been drained. */
  readonly onDrained: () => void
}

/** @throws {Error} with a message for a person when a certificate cannot be used. */
export async function startWorker(start: WorkerStart, deps: WorkerDeps): Promise<Worker> {
  const worker = new RunningWorker(start, deps)
  await worker.listen(start.listeners)
  return worker
}

class RunningWorker implements Worker {
  readonly #deps: WorkerDeps
  readonly #tables: WorkerTables
  readonly #keySets: KeySetQuestions
  /** Absent: no client needs a token. */
  readonly #tokens: TokenQuestions | undefined
  readonly #relayed: readonly RelayedService[]
  /** Creates the services, once telemetry has been started. */
  readonly #services: () => readonly GrpcService[]
  readonly #metrics: ReturnType<typeof createMetrics>
  readonly #told = new ToldMetrics(() => this.#metrics.json())
  readonly #messages: MessageBudget
  readonly #lines: PermitLines
  readonly #exports: Exports
  readonly #changes: TableQueue
  #servings: readonly SocketServing[] = []
  #ownAddresses: readonly string[] = []
  #probeSecret: Uint8Array | undefined
  #streams = 0

  constructor(start: WorkerStart, deps: WorkerDeps) {
    const { settings, worker, workers, relayed } = start
    const { post, logger } = deps
    const counters = openCounters(COUNTERS_FD, worker, workers)
    const now = (): number => Date.now()
    const heldBytes = createHeldBytes(
      start.heldBytes,
      counters.heldBytes,
      () => this.#metrics.budgetReached('held-bytes'),
      counters.callers,
    )
    this.#deps = deps
    this.#metrics = createMetrics(() => heldBytes.held())
    this.#messages = createMessageBudget(start.heldBytes, this.#metrics, counters.messages)
    this.#tables = createWorkerTables({ ...settings, workers }, now)
    this.#changes = new TableQueue({
      change: (parts) => runInTurns(this.#tables.change(parts)),
      onTaken: (sequence) => post({ type: 'taken', sequence }),
    })
    this.#keySets = new KeySetQuestions(post)
    this.#lines = new PermitLines(workers, post)
    this.#relayed = relayed.map((one) =>
      createRelayedService(one, post, () => (this.#streams += 1)),
    )
    this.#exports = new Exports(settings, { logger, metrics: this.#metrics, now, worker })
    const tokens = start.listeners.some(({ tls }) => tls?.acceptsTokens === true)
      ? new TokenQuestions(post, now)
      : undefined
    this.#tokens = tokens
    const known = (service: GrpcService): GrpcService =>
      tokens === undefined ? service : authenticated(service, tokens)
    this.#services = () => [
      ...createCheckAndProcess({
        decisions: this.#exports.decisions,
        tracer: this.#exports.tracer,
        tables: this.#tables,
        keySets: this.#keySets,
        metrics: this.#metrics,
        logger,
        now,
        tokens,
        ...(isMeshController(settings) && {
          probes: createProbeSigns(() => this.#probeSecret, now),
        }),
        ...this.#calls(settings),
        shared: { part: 1 / workers, tallyOf: (provider) => counters.named(provider) },
        ...limitsOf(settings, heldBytes),
      }).map(known),
      // The main process authenticates their calls.
      ...this.#relayed.map(({ service }) => service),
    ]
  }

  async listen(listeners: readonly HandedListener[]): Promise<void> {
    const { logger } = this.#deps
    await this.#exports.start()
    const [services, messages] = [this.#services(), this.#messages]
    this.#servings = await Promise.all(
      listeners.map(({ type, tls }) =>
        createServing({ type, services, logger, messages, ...(tls && { tls }) }),
      ),
    )
  }

  receive(message: Exclude<ToWorker, { readonly type: 'start' }>, socket?: Socket): void {
    const { post } = this.#deps
    switch (message.type) {
      case 'tables':
        return this.#changes.take(message)
      case 'forget':
        return this.#changes.afterTables(() => {
          this.#tables.forget(message.vanishedBy)
          void this.#metrics.forgetRoutes(message.routes)
        })
      case 'own-addresses':
        this.#ownAddresses = message.addresses
        return
      case 'probe-secret':
        this.#probeSecret = message.secret
        return
      case 'socket':
        // Tables that were sent before a socket are in force before it is served.
        return this.#changes.afterTables(() => this.#accept(message.listener, socket))
      case 'serving':
        // In order with tables: health follows what checks would answer.
        return this.#changes.afterTables(() => this.#setServing(message.serving))
      case 'drain':
        return void this.#drain(message.timeoutMs)
      case 'ping':
        return post({ type: 'pong' })
      case 'metrics':
        return void this.#tellMetrics(message.call, message.part)
      case 'decisions':
        return post({ type: 'decisions', call: message.call, lines: this.#exports.recent.lines() })
      case 'refetched':
      case 'key-set-answers':
        // A check that waited for fresh keys finds them in the tables that were sent before.
        return this.#changes.afterTables(() => this.#keySets.receive(message))
      case 'admission':
        return this.#tokens?.receive(message.call, message.admission)
      case 'permits-granted':
      case 'permits-recalled':
        return this.#lines.receive(message)
      default:
        for (const relayed of this.#relayed) relayed.receive(message)
    }
  }

  tablesTaken(): Promise<void> {
    return this.#changes.taken()
  }

  #setServing(isServing: boolean): void {
    for (const serving of this.#servings) serving.setServing(isServing)
  }

  #calls(
    settings: Settings,
  ): Pick<ReturnType<typeof createCalls>, 'callRemote' | 'callPublic' | 'pools'> {
    return createCalls(settings, {
      caFile: systemCaFile(settings.environment),
      ownAddresses: () => this.#ownAddresses,
      lines: this.#lines,
    })
  }

  /** Serves the socket, or reports it closed if it is gone by the time it arrives. */
  #accept(listener: number, socket: Socket | undefined): void {
    const closed = (): void => this.#deps.post({ type: 'closed', listener })
    const serving = this.#servings[listener]
    if (socket === undefined || serving === undefined) return closed()
    socket.once('close', closed)
    serving.accept(socket)
  }

  async #tellMetrics(call: number, part: number): Promise<void> {
    const message = await this.#told.part(call, part)
    if (message !== undefined) this.#deps.post(message)
  }

  async #drain(timeoutMs: number): Promise<void> {
    await Promise.all(this.#servings.map((serving) => serving.drain(timeoutMs)))
    await this.#exports.close()
    this.#deps.onDrained()
  }
}

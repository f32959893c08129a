// Asks webhooks of mode Audit about copies of one HTTP exchange. Runs the guard itself and drops its answers: Envoy
// never waits, and no outcome affects the client, the LLM or the MCP server (decision 25m).

import { OwnEnding } from '../../kit/ending.js'
import { errorKind } from '../../kit/errors.js'
import { ProcessingMode_BodySendMode as BodySendMode } from '../../wire/grpc/generated/envoy/extensions/filters/http/ext_proc/v3/processing_mode_pb.js'
import { BUSY, type Hold } from '../session/held-bytes.js'
import type { BodyPart } from '../session/process-message.js'
import type { Processor, ProcessorStream } from '../session/processor.js'
import type { GuardAudit } from '../webhook/compiled-guard.js'
import type { GuardDeps } from '../webhook/guard-deps.js'
import { createGuardProcessor } from './guard-processor.js'

/** Time that webhooks have after the end of the exchange. */
const LINGER_MS = 10_000

/** Body modes of the copies: the guard requires modes in which it decides about each piece. */
const FULL_DUPLEX = {
  requestBodyMode: BodySendMode.FULL_DUPLEX_STREAMED,
  responseBodyMode: BodySendMode.FULL_DUPLEX_STREAMED,
}

/** Creates the processor of an audited exchange. lingerMs: how long webhooks may take after the stream has ended. */
export const createGuardAudit = (
  entry: GuardAudit,
  stream: ProcessorStream,
  deps: GuardDeps,
  lingerMs?: number,
): Processor =>
  createAudit(
    {
      route: entry.route,
      create: (...given) => createGuardProcessor({ ...entry, type: 'guard' }, ...given),
    },
    stream,
    deps,
    lingerMs,
  )

/** The guard that is run on copies. */
export interface Audited {
  /** NAMESPACE/NAME of the HTTPRoute. */
  readonly route: string
  readonly create: (copies: ProcessorStream, deps: GuardDeps) => Processor
}

/** Runs a guard on copies. Its answers are dropped, and its bodies count as held by audits. */
export function createAudit(
  { route, create }: Audited,
  stream: ProcessorStream,
  all: GuardDeps,
  lingerMs = LINGER_MS,
): Processor {
  const deps: GuardDeps = {
    ...all,
    mode: 'audit',
    heldBytes: all.heldBytes.forCopies(),
  }
  const ending = new OwnEnding()
  const giveUp = (problem: string): void => {
    if (ending.aborted) return
    ending.abort()
    const leftOut = deps.limit.take(`audit ${route} ${problem}`)
    if (leftOut === undefined) return
    deps.logger.warn({ route, mode: 'audit', problem, leftOut }, 'an audit was abandoned')
  }
  const lane = (): Lane =>
    new Lane(ending, deps.heldBytes.open(), {
      busy: () => giveUp(BUSY),
      failed: (error) => giveUp(errorKind(error)),
    })
  const [requests, responses] = [lane(), lane()]
  const copies: ProcessorStream = { send: () => undefined, signal: ending }
  const guard = create(copies, deps)

  stream.signal.addEventListener('abort', () => {
    const timer = setTimeout(() => ending.abort(), lingerMs)
    timer.unref()
    void Promise.all([requests.idle(), responses.idle()]).then(() => {
      clearTimeout(timer)
      ending.abort()
    })
  })
  return {
    requestHeaders: (message, first) =>
      requests.add(() => guard.requestHeaders(message, { ...first, config: FULL_DUPLEX })),
    requestBody: (message) => requests.addBody(message, (body) => guard.requestBody(body)),
    requestTrailers: () => requests.add(() => guard.requestTrailers()),
    responseHeaders: (message, first) =>
      responses.add(() => guard.responseHeaders(message, { ...first, config: FULL_DUPLEX })),
    responseBody: (message) => responses.addBody(message, (body) => guard.responseBody(body)),
    responseTrailers: () => responses.add(() => guard.responseTrailers()),
    isDone: () => true,
  }
}

type Work = () => Promise<void> | void

interface LaneEvents {
  busy(): void
  failed(error: unknown): void
}

/** Runs the work of one phase in order. Bodies that wait count as held. */
class Lane {
  #tail: Promise<void> | undefined
  #waiting = 0

  constructor(
    private readonly ending: OwnEnding,
    private readonly hold: Hold,
    private readonly events: LaneEvents,
  ) {
    ending.addEventListener('abort', () => hold.release())
  }

  add(work: Work): void {
    if (this.ending.aborted) return
    const done = this.#tail === undefined ? this.#run(work) : this.#tail.then(() => this.#run(work))
    if (done !== undefined) this.#follow(done)
  }

  /** Copies a body that has to wait, as it is a view into memory that is used again. */
  addBody(message: BodyPart, work: (message: BodyPart) => Promise<void> | void): void {
    if (this.ending.aborted) return
    if (this.#tail === undefined) return this.add(() => work(message))
    const { length } = message.body
    if (!this.hold.become(this.#waiting + length)) return this.events.busy()
    this.#waiting += length
    const copy = { ...message, body: Buffer.from(message.body) }
    this.add(() => {
      this.#waiting -= length
      this.hold.become(this.#waiting)
      return work(copy)
    })
  }

  /** Resolves when all work that was added has been done. */
  async idle(): Promise<void> {
    while (this.#tail !== undefined) await this.#tail
  }

  #follow(done: Promise<void>): void {
    const tail = done.then(() => {
      if (this.#tail === tail) this.#tail = undefined
    })
    this.#tail = tail
  }

  /** Never throws, and its promise never rejects. */
  #run(work: Work): Promise<void> | undefined {
    if (this.ending.aborted) return undefined
    try {
      return work()?.catch((error: unknown) => this.events.failed(error))
    } catch (error) {
      this.events.failed(error)
      return undefined
    }
  }
}

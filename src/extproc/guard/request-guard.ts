// The request phase of a guarded route: holds headers and body until the webhooks have seen the content (decisions
// 15-19). What a body contains, and how errors look, is up to the form of the traffic.

import type { Attributes } from '../../cel/attributes.js'
import type { Ending } from '../../ending.js'
import { startBodyClock } from '../stream/body-clock.js'
import { expectFullDuplex } from '../stream/full-duplex.js'
import { type HeaderChange, sendHeaders } from '../stream/guard-messages.js'
import { immediateResponse, withRequestId } from '../stream/immediate-response.js'
import type { BodyPart, HeadersPart } from '../stream/process-message.js'
import type { FirstMessage, ProcessorStream } from '../stream/processor.js'
import type { GuardDeps } from '../webhook/guard-deps.js'
import { loggedReply, logRefusal, type RefusedPhase } from '../webhook/refusal-log.js'
import { createGuardedPhase, type GuardedPhase, type PhaseEvents } from './guarded-phase.js'
import type { HeldBody } from './held-body.js'
import type { RequestFinding } from './inspect-request.js'
import type { Refused } from './inspection.js'
import { RequestAnswer } from './request-answer.js'
import { type GuardedRequest, guardedRequest } from './request-attributes.js'

/** What differs between the requests of LLMs and those of MCP. attributes: those of the request, without its body. */
export interface RequestForm {
  readonly guard: RefusedPhase['guard']
  /** Whether bodies are held and read. */
  readonly readsRequests: boolean
  /** Whether replies are read. */
  readonly readsReplies: boolean
  /** Returns the header changes of a request that goes on. */
  change(): HeaderChange
  /** Returns the refusal of a request whose headers rule out guarding its body; undefined: they do not. */
  refusalOf(request: GuardedRequest): Refused | undefined
  tooLarge(attributes: Attributes): Refused
  tooSlow(attributes: Attributes): Refused
  busy(attributes: Attributes): Refused
  /** onAsked: may be called with the body as it arrived, while webhooks are asked about it. */
  inspect(
    body: Pick<HeldBody, 'take'>,
    attributes: Attributes,
    signal: Ending,
    onAsked: (body: Uint8Array) => void,
  ): Promise<RequestFinding>
}

/** The request phase of one exchange. */
export interface RequestGuard {
  headers(message: HeadersPart, first: FirstMessage): Promise<void> | void
  body(message: BodyPart): Promise<void> | void
  trailers(): Promise<void> | void
  /** Returns what expressions read in both phases; empty before the headers. */
  attributes(): Attributes
  /** Whether the request had a body; if so, its reply must be an LLM's. */
  hadBody(): boolean
  /** Whether the body has been read and asks for one choice alone. */
  isOneChoice(): boolean
  /** Whether Envoy has sent the request's headers to Gatehouse. */
  wasSeen(): boolean
  /** Whether Gatehouse has answered the request itself; no response follows then. */
  isRefused(): boolean
}

/** Creates the request phase of an exchange. */
export const createRequestGuard = (
  form: RequestForm,
  stream: ProcessorStream,
  deps: GuardDeps,
): RequestGuard => new RequestPhase(form, stream, deps)

/** A class, because every guarded request makes one, and each function of its own would have to be made as well. */
class RequestPhase implements RequestGuard, PhaseEvents {
  private readonly phase: GuardedPhase
  private read: Attributes = {}
  private hasBody = false
  private asksForOne = false
  private stopClock: (() => void) | undefined

  constructor(
    private readonly form: RequestForm,
    private readonly stream: ProcessorStream,
    private readonly deps: GuardDeps,
  ) {
    this.phase = createGuardedPhase('request', stream, deps, this)
  }

  headers(message: HeadersPart, { config, metadata }: FirstMessage): void {
    const { form, phase } = this
    phase.expectHeaders()
    if (form.readsReplies) expectFullDuplex('reply', config?.responseBodyMode)
    const request = guardedRequest(message.headers, metadata)
    this.read = request.attributes
    if (form.readsRequests && !message.endOfStream) {
      expectFullDuplex('request', config?.requestBodyMode)
      return this.hold(request)
    }
    phase.become(message.endOfStream ? 'done' : 'passing')
    sendHeaders(this.stream.send, 'request', form.change())
  }

  body(message: BodyPart): Promise<void> | void {
    this.hasBody ||= this.phase.state === 'passing' && message.body.length > 0
    return this.phase.body(message)
  }

  trailers(): Promise<void> | void {
    return this.phase.trailers()
  }

  attributes(): Attributes {
    return this.read
  }

  hadBody(): boolean {
    return this.hasBody
  }

  isOneChoice(): boolean {
    return this.asksForOne
  }

  wasSeen(): boolean {
    return this.phase.state !== 'start'
  }

  isRefused(): boolean {
    return this.phase.state === 'refused'
  }

  tooLarge(): void {
    this.refuse(this.form.tooLarge(this.read))
  }

  busy(): void {
    this.refuse(this.form.busy(this.read))
  }

  async complete(held: HeldBody, hasTrailers: boolean): Promise<void> {
    const { form, stream } = this
    this.stopClock?.()
    this.hasBody = held.size > 0
    const answer = new RequestAnswer(form, stream, hasTrailers)
    const inspected = this.hasBody
      ? await form.inspect(held, this.read, stream.signal, (body) => answer.prepare(body))
      : NO_BODY
    if (inspected.type === 'refused') return this.refuse(inspected)
    if (inspected.type === 'aborted') return
    this.asksForOne = inspected.isOneChoice === true
    const sending = answer.send(inspected)
    if (sending !== undefined) await sending
    this.phase.become('done')
  }

  private hold(request: GuardedRequest): void {
    const { form, phase, deps } = this
    phase.become('holding')
    const refused = form.refusalOf(request)
    if (refused !== undefined) return this.refuse(refused)
    if ((request.contentLength ?? 0) > deps.maxBodyBytes) return this.tooLarge()
    this.stopClock = startBodyClock(deps.bodyTimeoutMs, this.stream.signal, () =>
      this.refuse(form.tooSlow(this.read)),
    )
  }

  private refuse(refused: Refused): void {
    const { form, deps, read: attributes } = this
    this.stopClock?.()
    this.phase.become('refused')
    logRefusal(deps, { guard: form.guard, phase: 'request', attributes }, loggedReply(refused))
    this.stream.send(immediateResponse(withRequestId(refused.reply, attributes.request?.headers)))
  }
}

const NO_BODY: RequestFinding = { type: 'passed', body: new Uint8Array() }

// The request phase of a guarded route: holds headers and body until the webhooks have seen the content (decisions
// 15-19). What a body contains, and how errors look, is up to the form of the traffic.

import type { Attributes } from '../../extauthz/cel/attributes.js'
import type { Ending } from '../../kit/ending.js'
import { readJsonInTurns } from '../../kit/json/json-text.js'
import { inTurns } from '../../kit/turns.js'
import { joinInTurns } from '../../kit/utf8.js'
import { asksForOneChoice } from '../llm/choices.js'
import { startBodyClock } from '../session/body-clock.js'
import { expectFullDuplex } from '../session/full-duplex.js'
import { type HeaderChange, sendHeaders } from '../session/guard-messages.js'
import type { HeldBytes } from '../session/held-bytes.js'
import { immediateResponse, withRequestId } from '../session/immediate-response.js'
import { prepareAnswer, type PreparedAnswer, sendPrepared } from '../session/prepared-answer.js'
import type { BodyPart, Headers, HeadersPart } from '../session/process-message.js'
import type { FirstMessage, ProcessorStream } from '../session/processor.js'
import { OF_THE_BYTES } from '../session/reply-output.js'
import { sendWithHeaders } from '../session/whole-body.js'
import type { GuardDeps } from '../webhook/guard-deps.js'
import { loggedReply, logRefusal, type RefusedPhase } from '../webhook/refusal-log.js'
import { withDecoded } from './decoded-body.js'
import { createGuardedPhase, type GuardedPhase, type PhaseEvents } from './guarded-phase.js'
import { createHeldBody, type HeldBody } from './held-body.js'
import type { RequestFinding } from './inspect-request.js'
import type { Refused } from './inspection.js'
import { decodedHeaders, type GuardedRequest, guardedRequest } from './request-attributes.js'

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
  /** Returns the refusal of a body whose encoding is not supported, or that is damaged. */
  undecodable(attributes: Attributes): Refused
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
  /** Whether the body asks for one choice alone, as far as is known. */
  isOneChoice(): boolean | Promise<boolean>
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
  readonly #phase: GuardedPhase
  #read: Attributes = {}
  #message: { readonly headers: Headers; readonly metadata: Buffer | undefined } | undefined
  #encoding: string | undefined = ''
  #hasBody = false
  #asksForOne = true
  #passing: PassingRequest | undefined
  #stopClock: (() => void) | undefined

  constructor(
    private readonly form: RequestForm,
    private readonly stream: ProcessorStream,
    private readonly deps: GuardDeps,
  ) {
    this.#phase = createGuardedPhase('request', stream, deps, this)
  }

  headers(message: HeadersPart, { config, metadata }: FirstMessage): void {
    const { form } = this
    const phase = this.#phase
    phase.expectHeaders()
    if (form.readsReplies) expectFullDuplex('reply', config?.responseBodyMode)
    const request = guardedRequest(message.headers, metadata)
    this.#read = request.attributes
    if (this.#read.jwt !== undefined) this.deps.callerIsKnown?.()
    this.#encoding = request.encoding
    if (request.encoding !== '') this.#message = { headers: message.headers, metadata }
    if (form.readsRequests && !message.endOfStream) {
      expectFullDuplex('request', config?.requestBodyMode)
      return this.#hold(request)
    }
    phase.become(message.endOfStream ? 'done' : 'passing')
    if (form.readsReplies && !message.endOfStream)
      this.#passing = new PassingRequest(request.encoding, this.deps, this.stream.signal)
    sendHeaders(this.stream, 'request', form.change())
  }

  body(message: BodyPart): Promise<void> | void {
    if (this.#phase.state === 'passing') this.#pass(message)
    return this.#phase.body(message)
  }

  trailers(): Promise<void> | void {
    this.#passing?.end()
    return this.#phase.trailers()
  }

  attributes(): Attributes {
    return this.#read
  }

  hadBody(): boolean {
    return this.#hasBody
  }

  isOneChoice(): boolean | Promise<boolean> {
    return this.#passing?.isOneChoice() ?? this.#asksForOne
  }

  wasSeen(): boolean {
    return this.#phase.state !== 'start'
  }

  isRefused(): boolean {
    return this.#phase.state === 'refused'
  }

  tooLarge(): void {
    this.#refuse(this.form.tooLarge(this.#read))
  }

  busy(): void {
    this.#refuse(this.form.busy(this.#read))
  }

  async complete(held: HeldBody, hasTrailers: boolean): Promise<void> {
    const { form, stream } = this
    const encoding = this.#encoding
    this.#stopClock?.()
    this.#hasBody = held.size > 0
    const answer = new RequestAnswer(form, stream, hasTrailers, encoding !== '')
    const inspected = !this.#hasBody
      ? NO_BODY
      : encoding === ''
        ? await this.#inspect(held, answer)
        : await this.#decode(held, answer)
    if (inspected.type === 'refused') return this.#refuse(inspected)
    if (inspected.type === 'aborted') return
    this.#asksForOne = inspected.isOneChoice !== false
    const sending = answer.send(inspected)
    if (sending !== undefined) await sending
    this.#phase.become('done')
  }

  #pass({ body, endOfStream }: BodyPart): void {
    this.#hasBody ||= body.length > 0
    this.#passing?.add(body)
    if (endOfStream) this.#passing?.end()
  }

  #inspect(body: Pick<HeldBody, 'take'>, answer: RequestAnswer): Promise<RequestFinding> {
    const { form, stream } = this
    const read = this.#read
    return form.inspect(body, read, stream.signal, (bytes) => answer.prepare(bytes))
  }

  /** Inspects the body without its encoding, in which it does not go on. */
  async #decode(held: HeldBody, answer: RequestAnswer): Promise<RequestFinding> {
    const { form, deps, stream } = this
    const read = this.#read
    const message = this.#message
    const encoding = this.#encoding
    const { signal } = stream
    if (encoding === undefined) return form.undecodable(read)
    const bytes = await inTurns(joinInTurns(held.take()), signal)
    if (bytes === undefined || message === undefined) return ABORTED
    const { maxBodyBytes, heldBytes } = deps
    return withDecoded({ bytes, encoding, maxBodyBytes, heldBytes, signal }, (decoded) => {
      switch (decoded.type) {
        case 'decoded':
          this.#read = guardedRequest(decodedHeaders(message.headers), message.metadata).attributes
          return this.#inspect({ take: () => [Buffer.from(decoded.body)] }, answer)
        case 'too large':
          return form.tooLarge(read)
        case 'busy':
          return form.busy(read)
        case 'unreadable':
          return form.undecodable(read)
        case 'aborted':
          return ABORTED
      }
    })
  }

  #hold(request: GuardedRequest): void {
    const { form, deps } = this
    const phase = this.#phase
    phase.become('holding')
    const refused = form.refusalOf(request)
    if (refused !== undefined) return this.#refuse(refused)
    if ((request.contentLength ?? 0) > deps.maxBodyBytes) return this.tooLarge()
    this.#stopClock = startBodyClock(deps.bodyTimeoutMs, this.stream.signal, () =>
      this.#refuse(form.tooSlow(this.#read)),
    )
  }

  #refuse(refused: Refused): void {
    const { form, deps } = this
    const attributes = this.#read
    this.#stopClock?.()
    this.#phase.become('refused')
    logRefusal(deps, { guard: form.guard, phase: 'request', attributes }, loggedReply(refused))
    this.stream.send(immediateResponse(withRequestId(refused.reply, attributes.request?.headers)))
  }
}

const ABORTED: RequestFinding = { type: 'aborted' }
const NO_BODY: RequestFinding = { type: 'passed', body: new Uint8Array() }

// The body of an LLM request that passes unheld, of which only is read how many choices it asks for: of a streamed reply,
// texts of other indexes are then other texts (decision 20h).

/** Limits of the copy of a body. */
interface CopyLimits {
  readonly maxBodyBytes: number
  readonly heldBytes: HeldBytes
  /** Milliseconds for all of the body: a slow client may send it for hours, but nothing is held for that long. */
  readonly bodyTimeoutMs: number
}

/** A request whose body passes. One that is too large or too slow, or cannot be read, asks for one choice. */
export class PassingRequest {
  readonly #copy: HeldBody
  readonly #heldBytes: HeldBytes
  readonly #stopClock: () => void
  #isKept = true
  #asksForOne: boolean | Promise<boolean> = true

  /** encoding: of the body; "": none. undefined: one that is not decoded. */
  constructor(
    private readonly encoding: string | undefined,
    private readonly limits: CopyLimits,
    private readonly signal: Ending,
  ) {
    // Nobody is refused for want of a copy: half of the budget is left to bodies that have to be held.
    this.#heldBytes = limits.heldBytes.forCopies()
    this.#copy = createHeldBody(limits.maxBodyBytes, this.#heldBytes.open())
    signal.addEventListener('abort', () => this.#drop())
    this.#stopClock = startBodyClock(limits.bodyTimeoutMs, signal, () => this.#drop())
  }

  /** Copies a piece of the body. */
  add(piece: Uint8Array): void {
    if (this.#isKept) this.#isKept = this.#copy.add(piece) === 'held'
  }

  /** Reads the body, which is complete. */
  end(): void {
    this.#stopClock()
    if (!this.#isKept || this.encoding === undefined || !this.#copy.prepare()) return this.#drop()
    this.#asksForOne = this.#read(this.encoding)
      .catch(() => true)
      .finally(() => this.#drop())
  }

  /** Whether it asks for one choice alone. */
  isOneChoice(): boolean | Promise<boolean> {
    return this.#asksForOne
  }

  async #read(encoding: string): Promise<boolean> {
    const { signal } = this
    const { maxBodyBytes } = this.limits
    const heldBytes = this.#heldBytes
    const bytes = await inTurns(joinInTurns(this.#copy.take()), signal)
    if (bytes === undefined) return true
    if (encoding === '') return isOne(bytes, signal)
    return withDecoded({ bytes, encoding, maxBodyBytes, heldBytes, signal }, (decoded) =>
      decoded.type === 'decoded' ? isOne(decoded.body, signal) : true,
    )
  }

  #drop(): void {
    this.#isKept = false
    this.#copy.drop()
  }
}

async function isOne(bytes: Uint8Array, signal: Ending): Promise<boolean> {
  const json = await inTurns(readJsonInTurns(bytes), signal)
  return json?.ok !== true || asksForOneChoice(json.value)
}

// The answer to a request that goes on, with its body.

/** headers: to be set beside those that every request gets; by lower-case name. */
interface PassedRequest {
  readonly body: Uint8Array
  readonly headers?: Readonly<Record<string, string>>
}

/** Sends a request on. isDecoded: its headers describe the body as it was sent, and the body goes on without its encoding. */
export class RequestAnswer {
  #prepared: PreparedAnswer | undefined

  constructor(
    private readonly form: { change(): HeaderChange },
    private readonly stream: ProcessorStream,
    private readonly hasTrailers: boolean,
    private readonly isDecoded: boolean,
  ) {}

  /** Encodes the answer to a request that will probably go on with this body. */
  prepare(body: Uint8Array): void {
    this.#prepared = prepareAnswer(body, this.stream, (to) => this.#write({ body }, to))
  }

  /** Returns a promise only if it takes more than this turn. */
  send(request: PassedRequest): Promise<void> | void {
    const prepared = this.#prepared
    return prepared !== undefined && prepared.body === request.body && request.headers === undefined
      ? sendPrepared(this.stream, prepared)
      : this.#write(request, this.stream)
  }

  #write({ body, headers }: PassedRequest, to: ProcessorStream): Promise<void> | void {
    const change = this.form.change()
    const set = { ...change.set, ...headers }
    const remove = this.isDecoded ? [...(change.remove ?? []), ...OF_THE_BYTES] : change.remove
    const all = { ...change, set, ...(remove && { remove }) }
    return sendWithHeaders(to, 'request', all, body, this.hasTrailers)
  }
}

// Decides what may leave of a streamed reply, as it arrives (decision 20), in three layers: frames (bytes and events),
// windows (windows.ts: when a text is shown, and what its answer frees) and webhooks (who is asked).
//
//   state    | begins when                                    | incoming bytes   | what is sent
//   ---------|------------------------------------------------|------------------|------------------------------------
//   open     | the headers have been answered                 | are read         | what the webhooks of mode Sync freed
//   full     | over 4,096 characters or frames await verdicts | wait             | the same
//   slices   | a piece of the body takes more than one turn   | wait             | the same
//   ending   | the LLM's reply has ended                      | none             | the rest, as it is freed
//   watched  | all but the ends of texts has been sent        | none             | these, when mode Async has seen all
//   over     | everything has been sent                       | none             | nothing
//   refused  | a reject, no verdict, or an unreadable reply   | are dropped      | an error, after what was free
//   left     | the client or Envoy has gone                   | are dropped      | nothing

import type { Attributes } from '../../extauthz/cel/attributes.js'
import type { Ending } from '../../kit/ending.js'
import { errorKind } from '../../kit/errors.js'
import { err, type Result } from '../../kit/result.js'
import { nextTurn, type Work } from '../../kit/turns.js'
import { UNREADABLE_ENCODING } from '../encodings/decode-reply.js'
import type { Decoder } from '../encodings/decoder.js'
import type { OwnError } from '../llm/api-error.js'
import type { LlmApi } from '../llm/text/api.js'
import type { EntryKind } from '../llm/text/conversation.js'
import { BUSY, type Hold } from '../session/held-bytes.js'
import {
  askWebhooks,
  type PhaseVerdict,
  type Reject,
  SIGNED_REJECT,
} from '../webhook/ask-webhooks.js'
import { type CompiledWebhook, type Guard, inspectsOf, isShown } from '../webhook/compiled-guard.js'
import { replyAttributes } from '../webhook/gen-ai-attributes.js'
import type { GuardDeps } from '../webhook/guard-deps.js'
import type { AskedEntry } from '../webhook/question.js'
import type { RefusalSubject } from '../webhook/refusal-log.js'
import { StreamTokens } from '../webhook/token-usage.js'
import { createEventIntake, type EventIntake } from './event-intake.js'
import type { EventFrameReader, Reading } from './framing/frame.js'
import { createWindows, type WindowEvents, type Windows } from './windows.js'
import { createHeldReply, type HeldReply } from './windows/held-reply.js'
import type { ReplyForm } from './windows/reply-channels.js'
import { WatchedReply } from './windows/watched-reply.js'

/** A guarded reply that leaves as it arrives. */
export interface StreamedReply {
  /** Resolves when more may be pushed. */
  push(bytes: Uint8Array): Promise<void>
  /** Called after the last bytes. Resolves when all that may leave has been sent. */
  end(): Promise<void>
}

/** Where what may leave is sent. */
export interface ReplyOutput {
  send(text: string): void
  /** Sends the error that ends the reply. api: undefined when no event revealed it. */
  refuse(refusal: StreamRefusal, api: LlmApi | undefined): void
}

/** How the reply is read, and who is asked. */
export interface StreamContext extends WebhookContext {
  /** Decoder for its Content-Encoding. */
  readonly decoder: Decoder
  readonly reader: EventFrameReader
  /** Whether the request is known to ask for one choice alone. */
  readonly isOneChoice: boolean
}

/** Unseen characters above which reading pauses while webhooks are asked. */
const MOST_UNSEEN = 4096
/** Held frames above which reading pauses likewise. */
const MOST_FRAMES = 4096

/** Copies held of an event's characters: as they arrived, their text, and what webhooks are asked about it. */
const TIMES_HELD = 3
/** Minimum bytes that a frame occupies, however short it is. */
const FRAME_BYTES = 512

/** Creates a reply of which nothing has arrived. */
export const createStreamedReply = (
  context: StreamContext,
  output: ReplyOutput,
  deps: GuardDeps,
): StreamedReply => new GuardedStream(context, output, deps)

class GuardedStream implements StreamedReply {
  readonly #route: string
  readonly #held: HeldReply
  readonly #intake: EventIntake
  readonly #tokens: StreamTokens
  readonly #frames: Frames
  readonly #hold: Hold
  readonly #windows: Windows
  /** Present if there are webhooks of mode Async. */
  readonly #watched: WatchedReply | undefined
  readonly #watching: Windows | undefined
  #isStopped = false
  /** The work of sending what is free, in turns; undefined when there is none. */
  #leaving: Work<void> | undefined
  /** Whether more has become free meanwhile. */
  #isMoreFree = false
  /** Sent after what is leaving. */
  #refusal: StreamRefusal | undefined
  #wake = (): void => {}

  constructor(
    context: StreamContext,
    private readonly output: ReplyOutput,
    private readonly deps: GuardDeps,
  ) {
    const { guard, decoder, reader, isOneChoice, signal } = context
    this.#route = guard.route
    const [sync, async] = [webhooksOf('Sync', context, deps), webhooksOf('Async', context, deps)]
    const passesUnread = guard.response.every(({ webhook }) => webhook.failureMode === 'FailOpen')
    this.#watched = async.form.shows.size === 0 ? undefined : new WatchedReply(async.form)
    this.#held = createHeldReply(sync.form, this.#watched)
    this.#tokens = new StreamTokens(deps, guard)
    const readAs = { inspects: inspectsOf(guard.response), isOneChoice }
    this.#intake = createEventIntake(this.#held, { passesUnread, readAs }, (api, usage) => {
      this.#tokens.note(usage)
      deps.span?.set(replyAttributes(api, usage))
    })
    this.#hold = deps.heldBytes.open()
    const isStopped = (): boolean => this.#isStopped
    const pause = (): Promise<void> => this.#pause()
    this.#frames = createFrames({ decoder, reader, intake: this.#intake, pause, isStopped })
    const events = this.#windowEvents()
    this.#windows = createWindows(this.#held, sync, events)
    this.#watching = this.#watched && createWindows(this.#watched, async, events)
    signal.addEventListener('abort', () => this.#leave())
  }

  async push(bytes: Uint8Array): Promise<void> {
    if (!this.#isStopped) this.#took(await this.#frames.push(bytes))
    while (!this.#isStopped && this.#isFull()) await this.#progress()
    while (this.#leaving !== undefined) await this.#progress()
  }

  async end(): Promise<void> {
    if (!this.#isStopped) this.#took(await this.#frames.end())
    this.#held.end()
    this.#look()
    while (!this.#isStopped && !this.#held.isEmpty()) await this.#progress()
    this.#watched?.end()
    this.#look()
    while (!this.#isStopped && this.#watched?.isSeen() === false) await this.#progress()
    while (this.#leaving !== undefined) await this.#progress()
    this.#stop()
  }

  /** Called between two slices of what arrived. */
  async #pause(): Promise<void> {
    this.#look()
    await nextTurn()
    while (!this.#isStopped && (this.#isFull() || this.#leaving !== undefined))
      await this.#progress()
  }

  #isFull(): boolean {
    const held = this.#held
    const windows = this.#windows
    const watched = this.#watched
    const watching = this.#watching
    return (
      (windows.isAsking() && (held.frames > MOST_FRAMES || held.unseen() > MOST_UNSEEN)) ||
      (watching?.isAsking() === true && (watched?.unseen() ?? 0) > MOST_UNSEEN)
    )
  }

  #progress(): Promise<void> {
    return new Promise((resolve) => (this.#wake = resolve))
  }

  #took(taken: Result<undefined, string>): void {
    if (this.#isStopped) return
    if (taken.ok) this.#look()
    else this.#refuse(unreadableStream(taken.error))
  }

  #look(): void {
    if (this.#isStopped) return
    const problem = this.#held.problem()
    if (problem !== undefined) return this.#refuse(unreadableStream(problem))
    this.#windows.look()
    this.#flush()
    this.#expectUnsigned()
    this.#count()
  }

  /** Ends the reply if what would leave next is the signature of a text that has changed. */
  #expectUnsigned(): void {
    if (this.#held.isSignedChange) this.#refuse(streamRefusalOf(SIGNED_REJECT))
  }

  /** Counts what is held, after something arrived or left. */
  #count(): void {
    if (this.#isStopped) return
    const held = this.#held
    const watched = this.#watched
    const frames = this.#frames
    const characters = held.size + (watched?.unseen() ?? 0)
    const bytes = Math.max(TIMES_HELD * characters, FRAME_BYTES * held.frames) + frames.held()
    if (!this.#hold.become(bytes)) this.#refuse(BUSY_STREAM)
  }

  #flush(): void {
    if (this.#isStopped) return
    if (this.#leaving === undefined) this.#startLeaving()
    else this.#isMoreFree = true
    this.#watching?.look()
  }

  #startLeaving(): void {
    this.#isMoreFree = false
    const work = this.#held.leave((text) => this.output.send(text))
    if (work.next().done === true) return
    this.#leaving = work
    void this.#goOnLeaving(work)
  }

  async #goOnLeaving(work: Work<void>): Promise<void> {
    try {
      do {
        await nextTurn()
        if (this.#leaving !== work) return
      } while (work.next().done !== true)
      this.#leaving = undefined
      this.#hasLeft()
    } catch (error) {
      this.#fail(error)
    }
  }

  #hasLeft(): void {
    if (this.#isMoreFree) this.#startLeaving()
    if (this.#leaving !== undefined) return
    if (this.#refusal !== undefined) this.output.refuse(this.#refusal, this.#intake.api())
    this.#refusal = undefined
    if (!this.#isStopped) this.#watching?.look()
    this.#expectUnsigned()
    this.#count()
    this.#wake()
  }

  #windowEvents(): WindowEvents {
    return {
      answered: () => {
        this.#flush()
        this.#expectUnsigned()
        this.#count()
        const problem = this.#held.problem()
        if (problem !== undefined) this.#refuse(unreadableStream(problem))
        this.#wake()
      },
      ended: (decision) =>
        decision.type === 'aborted' ? this.#stop() : this.#refuse(streamRefusalOf(decision)),
      failed: (error) => this.#fail(error),
    }
  }

  #refuse(refusal: StreamRefusal): void {
    if (this.#isStopped) return
    this.#flush()
    this.#stop()
    if (this.#leaving === undefined) this.output.refuse(refusal, this.#intake.api())
    else this.#refusal = refusal
  }

  /** Handles a bug: nothing more leaves. */
  #fail(error: unknown): void {
    const isOwed = !this.#isStopped || this.#refusal !== undefined
    this.deps.logger.error(
      { route: this.#route, error: errorKind(error) },
      'a streamed reply failed',
    )
    this.#leave()
    if (isOwed) this.output.refuse(unavailableStream('internal error'), this.#intake.api())
  }

  /** Stops without sending anything more. */
  #leave(): void {
    this.#leaving = undefined
    this.#refusal = undefined
    this.#stop()
  }

  #stop(): void {
    this.#isStopped = true
    this.#windows.close()
    this.#watching?.close()
    this.#frames.close()
    this.#hold.release()
    this.#tokens.end()
    this.#wake()
  }
}

// The third layer of a streamed reply: asks the webhooks about a window. Those of mode Sync decide what leaves, those
// of mode Async are shown what has left.

/** The webhooks of one mode. */
export interface Webhooks {
  /** What the webhooks are shown. */
  readonly form: ReplyForm
  readonly minIntervalMs: number
  ask(entries: readonly AskedEntry[]): Promise<PhaseVerdict>
}

/** The exchange that webhooks are asked about. */
interface WebhookContext {
  readonly guard: Guard
  readonly attributes: Attributes
  readonly signal: Ending
}

/** Returns the webhooks of a mode. */
function webhooksOf(
  mode: 'Sync' | 'Async',
  { guard, attributes, signal }: WebhookContext,
  deps: GuardDeps,
): Webhooks {
  const webhooks = guard.response.filter(({ webhook }) => webhook.mode === mode)
  const { route } = guard
  const hasPassed = mode === 'Async'
  return {
    form: {
      ...formOf(webhooks, deps.maxBodyBytes),
      ...(guard.refusesSigned === true && { refusesSigned: true }),
    },
    minIntervalMs: Math.max(0, ...webhooks.map(({ webhook }) => webhook.minIntervalMs)),
    ask: (entries) =>
      askWebhooks(
        { route, phase: 'response', webhooks, entries, attributes, hasPassed, signal },
        deps,
      ),
  }
}

const KINDS: readonly EntryKind[] = ['text', 'tool-call', 'definition', 'file']

const formOf = (webhooks: readonly CompiledWebhook[], maxSize: number): ReplyForm => ({
  shows: new Set(KINDS.filter((kind) => webhooks.some((compiled) => isShown(kind, compiled)))),
  holdBack: Math.max(1, ...webhooks.map(({ webhook }) => webhook.holdBack)),
  maxSize,
})

// Why a streamed reply ends early: the error for the client, and the text for the log.

/** Why a streamed reply ends early. */
interface StreamRefusal {
  readonly error: OwnError
  /** For the log, without any text of the prompt or reply. */
  readonly problem: string
  readonly subject?: RefusalSubject
}

/** Returns the refusal of a reply that cannot be read. */
const unreadableStream = (problem: string): StreamRefusal => ({
  error: {
    status: 503,
    message: `The guardrail cannot read the reply: ${problem}.`,
    code: 'guardrail_unreadable',
  },
  problem,
})

/** The refusal when the budget of held bytes is used up. */
const BUSY_STREAM: StreamRefusal = {
  error: {
    status: 503,
    message: 'The guardrail holds as much as it may; try again.',
    code: 'guardrail_busy',
  },
  problem: BUSY,
}

/** Returns the refusal when a webhook that fails closed has given no verdict. */
const unavailableStream = (problem: string): StreamRefusal => ({
  error: { status: 503, message: 'The guardrail is unavailable.', code: 'guardrail_unavailable' },
  problem,
})

/** A reject's text reaches the client, as in replies that are not streamed. Without text, its reason does. */
export const streamRefusalOf = (
  decision: Extract<PhaseVerdict, { readonly type: 'reject' | 'unavailable' }>,
): StreamRefusal =>
  decision.type === 'reject'
    ? {
        error: rejectError(decision),
        problem: 'rejected by a webhook',
      }
    : {
        ...unavailableStream('a webhook is unavailable'),
        subject: { webhook: decision.webhook },
      }

const rejectError = ({ status, text, reason }: Reject): OwnError => ({
  status,
  message: text === '' ? (reason ?? '') : text,
  code: 'content_filter',
  ...(reason !== undefined && { reason }),
})

// The first layer of a streamed reply: decodes its bytes, cuts them into frames and reads those as events. Works in
// slices: a piece of a compressed stream may expand to millions of frames, and one event may be as large as a body.

/** Reads the bytes of a streamed reply. */
interface Frames {
  /** Reads the next bytes. The error is a sentence without any text: the reply cannot be read. */
  push(bytes: Uint8Array): Promise<Result<undefined, string>>
  /** Reads what is left when the stream ends. */
  end(): Promise<Result<undefined, string>>
  /** Returns the bytes held: the incomplete frame, and the piece being read. */
  held(): number
  /** Stops decoding. */
  close(): void
}

/** What the bytes of a reply are read with. */
export interface FrameContext {
  /** Decoder for its Content-Encoding. */
  readonly decoder: Decoder
  readonly reader: EventFrameReader
  readonly intake: Pick<EventIntake, 'take'>
  /** Called between two slices; resolves when the next one may be read. */
  readonly pause: () => Promise<void>
  /** Whether nobody waits for more. */
  readonly isStopped: () => boolean
}

const NOTHING: Result<undefined, string> = { ok: true, value: undefined }

/** Creates a reader of the bytes of one reply. */
function createFrames({ decoder, reader, intake, pause, isStopped }: FrameContext): Frames {
  let isRead = 0
  const inSlices = async (reading: Reading): Promise<Result<undefined, string>> => {
    for (let step = reading.next(); ; step = reading.next()) {
      if (step.done === true) return step.value
      await pause()
      if (isStopped()) return NOTHING
    }
  }
  const read = async (
    decoded: Promise<Uint8Array | undefined>,
  ): Promise<Result<undefined, string>> => {
    const bytes = await decoded
    if (isStopped()) return NOTHING
    if (bytes === undefined) return err(UNREADABLE_ENCODING)
    isRead = bytes.length
    const taken = await inSlices(reader.push(bytes, intake.take))
    isRead = 0
    return taken
  }
  return {
    push: (bytes) => read(decoder.push(bytes)),
    end: async () => {
      const rest = await read(decoder.end())
      return rest.ok && !isStopped() ? inSlices(reader.end(intake.take)) : rest
    },
    held: () => reader.held + isRead,
    close: () => decoder.close(),
  }
}

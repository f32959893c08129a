// Decides what may leave of a streamed reply, as it arrives (decision 20), in three layers: frames (frames.ts: bytes
// and events), windows (windows.ts: when a text is shown, and what its answer frees) and webhooks (webhooks.ts: who is
// asked).
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

import { errorKind } from '../../errors.js'
import type { EventFrameReader } from '../../llm/framing/frame.js'
import type { LlmApi } from '../../llm/text/api.js'
import { createHeldReply, type HeldReply } from '../../llm/windows/held-reply.js'
import { WatchedReply } from '../../llm/windows/watched-reply.js'
import type { Result } from '../../result.js'
import { nextTurn, type Work } from '../../turns.js'
import type { Decoder } from '../encodings/decoder.js'
import type { Hold } from '../stream/held-bytes.js'
import { inspectsOf } from '../webhook/compiled-guard.js'
import { replyAttributes } from '../webhook/gen-ai-attributes.js'
import type { GuardDeps } from '../webhook/guard-deps.js'
import { StreamTokens } from '../webhook/token-usage.js'
import { createEventIntake, type EventIntake } from './event-intake.js'
import { createFrames, type Frames } from './frames.js'
import {
  BUSY_STREAM,
  type StreamRefusal,
  streamRefusalOf,
  unavailableStream,
  unreadableStream,
} from './stream-refusal.js'
import { type WebhookContext, webhooksOf } from './webhooks.js'
import { createWindows, type WindowEvents, type Windows } from './windows.js'

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
  private readonly route: string
  private readonly held: HeldReply
  private readonly intake: EventIntake
  private readonly tokens: StreamTokens
  private readonly frames: Frames
  private readonly hold: Hold
  private readonly windows: Windows
  /** Present if there are webhooks of mode Async. */
  private readonly watched: WatchedReply | undefined
  private readonly watching: Windows | undefined
  private isStopped = false
  /** The work of sending what is free, in turns; undefined when there is none. */
  private leaving: Work<void> | undefined
  /** Whether more has become free meanwhile. */
  private isMoreFree = false
  /** Sent after what is leaving. */
  private refusal: StreamRefusal | undefined
  private wake = (): void => {}

  constructor(
    context: StreamContext,
    private readonly output: ReplyOutput,
    private readonly deps: GuardDeps,
  ) {
    const { guard, decoder, reader, isOneChoice, signal } = context
    this.route = guard.route
    const [sync, async] = [webhooksOf('Sync', context, deps), webhooksOf('Async', context, deps)]
    const passesUnread = guard.response.every(({ webhook }) => webhook.failureMode === 'FailOpen')
    this.watched = async.form.shows.size === 0 ? undefined : new WatchedReply(async.form)
    this.held = createHeldReply(sync.form, this.watched)
    this.tokens = new StreamTokens(deps, guard)
    const readAs = { inspects: inspectsOf(guard.response), isOneChoice }
    this.intake = createEventIntake(this.held, { passesUnread, readAs }, (api, usage) => {
      this.tokens.note(usage)
      deps.span?.set(replyAttributes(api, usage))
    })
    this.hold = deps.heldBytes.open()
    const isStopped = (): boolean => this.isStopped
    const pause = (): Promise<void> => this.pause()
    this.frames = createFrames({ decoder, reader, intake: this.intake, pause, isStopped })
    const events = this.windowEvents()
    this.windows = createWindows(this.held, sync, events)
    this.watching = this.watched && createWindows(this.watched, async, events)
    signal.addEventListener('abort', () => this.leave())
  }

  async push(bytes: Uint8Array): Promise<void> {
    if (!this.isStopped) this.took(await this.frames.push(bytes))
    while (!this.isStopped && this.isFull()) await this.progress()
    while (this.leaving !== undefined) await this.progress()
  }

  async end(): Promise<void> {
    if (!this.isStopped) this.took(await this.frames.end())
    this.held.end()
    this.look()
    while (!this.isStopped && !this.held.isEmpty()) await this.progress()
    this.watched?.end()
    this.look()
    while (!this.isStopped && this.watched?.isSeen() === false) await this.progress()
    while (this.leaving !== undefined) await this.progress()
    this.stop()
  }

  /** Called between two slices of what arrived. */
  private async pause(): Promise<void> {
    this.look()
    await nextTurn()
    while (!this.isStopped && (this.isFull() || this.leaving !== undefined)) await this.progress()
  }

  private isFull(): boolean {
    const { held, windows, watched, watching } = this
    return (
      (windows.isAsking() && (held.frames > MOST_FRAMES || held.unseen() > MOST_UNSEEN)) ||
      (watching?.isAsking() === true && (watched?.unseen() ?? 0) > MOST_UNSEEN)
    )
  }

  private progress(): Promise<void> {
    return new Promise((resolve) => (this.wake = resolve))
  }

  private took(taken: Result<undefined, string>): void {
    if (this.isStopped) return
    if (taken.ok) this.look()
    else this.refuse(unreadableStream(taken.error))
  }

  private look(): void {
    if (this.isStopped) return
    const problem = this.held.problem()
    if (problem !== undefined) return this.refuse(unreadableStream(problem))
    this.windows.look()
    this.flush()
    this.count()
  }

  /** Counts what is held, after something arrived or left. */
  private count(): void {
    if (this.isStopped) return
    const { held, watched, frames } = this
    const characters = held.size + (watched?.unseen() ?? 0)
    const bytes = Math.max(TIMES_HELD * characters, FRAME_BYTES * held.frames) + frames.held()
    if (!this.hold.become(bytes)) this.refuse(BUSY_STREAM)
  }

  private flush(): void {
    if (this.isStopped) return
    if (this.leaving === undefined) this.startLeaving()
    else this.isMoreFree = true
    this.watching?.look()
  }

  private startLeaving(): void {
    this.isMoreFree = false
    const work = this.held.leave((text) => this.output.send(text))
    if (work.next().done === true) return
    this.leaving = work
    void this.goOnLeaving(work)
  }

  private async goOnLeaving(work: Work<void>): Promise<void> {
    try {
      do {
        await nextTurn()
        if (this.leaving !== work) return
      } while (work.next().done !== true)
      this.leaving = undefined
      this.hasLeft()
    } catch (error) {
      this.fail(error)
    }
  }

  private hasLeft(): void {
    if (this.isMoreFree) this.startLeaving()
    if (this.leaving !== undefined) return
    if (this.refusal !== undefined) this.output.refuse(this.refusal, this.intake.api())
    this.refusal = undefined
    if (!this.isStopped) this.watching?.look()
    this.count()
    this.wake()
  }

  private windowEvents(): WindowEvents {
    return {
      answered: () => {
        this.flush()
        this.count()
        const problem = this.held.problem()
        if (problem !== undefined) this.refuse(unreadableStream(problem))
        this.wake()
      },
      ended: (decision) =>
        decision.type === 'aborted' ? this.stop() : this.refuse(streamRefusalOf(decision)),
      failed: (error) => this.fail(error),
    }
  }

  private refuse(refusal: StreamRefusal): void {
    if (this.isStopped) return
    this.flush()
    this.stop()
    if (this.leaving === undefined) this.output.refuse(refusal, this.intake.api())
    else this.refusal = refusal
  }

  /** Handles a bug: nothing more leaves. */
  private fail(error: unknown): void {
    const isOwed = !this.isStopped || this.refusal !== undefined
    this.deps.logger.error(
      { route: this.route, error: errorKind(error) },
      'a streamed reply failed',
    )
    this.leave()
    if (isOwed) this.output.refuse(unavailableStream('internal error'), this.intake.api())
  }

  /** Stops without sending anything more. */
  private leave(): void {
    this.leaving = undefined
    this.refusal = undefined
    this.stop()
  }

  private stop(): void {
    this.isStopped = true
    this.windows.close()
    this.watching?.close()
    this.frames.close()
    this.hold.release()
    this.tokens.end()
    this.wake()
  }
}

// The response phase of a guarded route: holds a reply until the webhooks have seen its content, and shows them a
// streamed one as it arrives (decisions 15-20).

import type { Ending } from '../../kit/ending.js'
import { andThen, inTurns } from '../../kit/turns.js'
import { joinInTurns } from '../../kit/utf8.js'
import { decoderOf, UNREADABLE_ENCODING } from '../encodings/decode-reply.js'
import { type Decoder, NO_BYTES } from '../encodings/decoder.js'
import { apiOfPath } from '../llm/detect-api.js'
import { expectFullDuplex } from '../session/full-duplex.js'
import { sendHeaders } from '../session/guard-messages.js'
import { withRequestId } from '../session/immediate-response.js'
import { prepareAnswer, type PreparedAnswer, sendPrepared } from '../session/prepared-answer.js'
import type { BodyPart, Headers, HeadersPart } from '../session/process-message.js'
import type { FirstMessage, ProcessorStream } from '../session/processor.js'
import { createOwnReply, OF_THE_BYTES, type OwnReply } from '../session/reply-output.js'
import { eventStream, type Framing, jsonArray, jsonLines } from '../sse/framing.js'
import { createOpening, type StreamedForm, type StreamOpening } from '../sse/opening.js'
import { createStreamedPhase, type StreamedPhase } from '../sse/streamed-phase.js'
import type { Guard } from '../webhook/compiled-guard.js'
import type { GuardDeps } from '../webhook/guard-deps.js'
import { inPhaseSpan } from '../webhook/phase-span.js'
import { loggedReply, logRefusal } from '../webhook/refusal-log.js'
import { createGuardedPhase, type GuardedPhase } from './guarded-phase.js'
import {
  busyReply,
  encodingOf,
  inspectReply,
  isEventStream,
  isOfLines,
  isSuccess,
  lengthOfReply,
  passesUnread,
  problemOfReply,
  type ReplyFinding,
  TOO_LARGE,
  unreadableReply,
} from './inspect-reply.js'
import { requestPath } from './inspect-request.js'
import type { Refused } from './inspection.js'
import { meanwhile } from './meanwhile.js'
import { asUtf8, sendPassed } from './read-reply.js'
import type { RequestGuard } from './request-guard.js'

/** The response phase of one exchange. */
export interface ResponseGuard {
  headers(message: HeadersPart, first: FirstMessage): Promise<void> | void
  body(message: BodyPart): Promise<void> | void
  trailers(): Promise<void> | void
  /** Whether nothing more of the reply is owed. */
  isDone(): boolean
}

/** Creates the response phase of an exchange. */
export function createResponseGuard(
  guard: Guard,
  request: Pick<RequestGuard, 'attributes' | 'hadBody' | 'isOneChoice' | 'wasSeen'>,
  stream: ProcessorStream,
  deps: GuardDeps,
): ResponseGuard {
  let headers: Headers = new Map()
  let streamed: StreamedPhase | undefined
  /** Present while the reply may still turn out to be streamed. */
  let opening: StreamOpening | undefined
  const own = createOwnReply(stream)
  const context = { guard, request, own, headers: () => headers }
  const { phase, refuseUnread } = createHeldReply(context, stream, deps)

  const startStream = (form: StreamedForm, decoder: Decoder): Promise<void> | void =>
    andThen(request.isOneChoice(), (isOneChoice) => {
      if (stream.signal.aborted) return decoder.close()
      phase.become('done')
      const framing = FRAMINGS[form](deps.maxBodyBytes)
      const asked = { attributes: request.attributes(), isOneChoice }
      streamed = createStreamedPhase({ guard, ...asked, framing, decoder }, stream, deps)
      sendHeaders(stream, 'response', { set: asUtf8(headers), remove: STREAMED })
    })
  const follow = (plan: ReplyPlan, isWhole: boolean): Promise<void> | void => {
    phase.become(plan.type !== 'pass' ? 'holding' : isWhole ? 'done' : 'passing')
    if (plan.type === 'pass') sendHeaders(stream, 'response')
    else if (plan.type === 'refuse') refuseUnread(plan.problem)
    else if (plan.type === 'stream') return startStream(plan.form, plan.decoder)
    else if (plan.streamed !== undefined) opening = openingOf(plan.streamed, stream.signal)
  }
  const lookForStream = async (message: BodyPart, opened: StreamOpening): Promise<void> => {
    const found = await opened.look(message.body)
    if (stream.signal.aborted) return
    if (found.type !== 'unknown') opening = undefined
    if (found.type !== 'streamed') return phase.body(message)
    await startStream(opened.form, found.decoder)
    await streamed?.body({ body: NO_BYTES, endOfStream: message.endOfStream })
  }
  return {
    headers: (message, { config }) => {
      phase.expectHeaders()
      headers = message.headers
      const plan = planOf(message, context, deps)
      if (plan.type !== 'pass') expectMode(request, config)
      return follow(plan, message.endOfStream)
    },
    body: (message) => {
      own.begin(false)
      if (opening?.mayBegin(message.body) === false) opening = undefined
      if (opening !== undefined && phase.state === 'holding') return lookForStream(message, opening)
      return (streamed ?? phase).body(message)
    },
    trailers: () => {
      own.begin(true)
      return (streamed ?? phase).trailers()
    },
    isDone: () => !own.isOwed() && (streamed?.isDone() ?? isOver(phase)),
  }
}

function planOf(
  { headers, endOfStream }: HeadersPart,
  { guard, request }: Pick<HeldReplyContext, 'guard' | 'request'>,
  deps: GuardDeps,
): ReplyPlan {
  // Otherwise an earlier filter has answered, e.g. with Gatehouse's 401: the request never left the gateway.
  const isOfBackend = request.wasSeen() || isSuccess(headers)
  return endOfStream || !isOfBackend
    ? PASS
    : replyPlan(guard, headers, requestPath(request.attributes()), deps)
}

/** Throws UnexpectedMessage for a reply that could not be held. The mode is in the first message: it may be the request's. */
function expectMode(request: Pick<RequestGuard, 'wasSeen'>, config: FirstMessage['config']): void {
  if (!request.wasSeen()) expectFullDuplex('reply', config?.responseBodyMode)
}

const PASS: ReplyPlan = { type: 'pass' }

/** Headers to remove from a reply whose length is unknown when its headers are sent. */
const STREAMED = ['content-length', ...OF_THE_BYTES]

const FRAMINGS: Readonly<Record<StreamedForm, (maxBytes: number) => Framing>> = {
  array: jsonArray,
  events: eventStream,
  lines: jsonLines,
}

function openingOf({ form, decoder, isDeclared }: MayBeStreamed, signal: Ending): StreamOpening {
  const opening = createOpening(form, decoder, isDeclared)
  signal.addEventListener('abort', () => opening.close())
  return opening
}

const isOver = ({ state }: GuardedPhase): boolean => state === 'done' || state === 'refused'

interface HeldReplyContext {
  readonly guard: Guard
  readonly request: Pick<RequestGuard, 'attributes' | 'hadBody' | 'wasSeen'>
  readonly own: OwnReply
  /** Returns the LLM's headers, once they have arrived. */
  readonly headers: () => Headers
}

interface HeldReply {
  readonly phase: GuardedPhase
  readonly refuseUnread: (problem: string) => void
}

const UNCHANGED = { type: 'same' } as const

/** Creates the handler of a reply that is held until it is complete. */
function createHeldReply(
  { guard, request, own, headers }: HeldReplyContext,
  stream: ProcessorStream,
  deps: GuardDeps,
): HeldReply {
  const refuse = (refused: Refused, hasTrailers = false): void => {
    phase.become('refused')
    const attributes = request.attributes()
    logRefusal(deps, { guard, phase: 'response', attributes }, loggedReply(refused))
    own.send(withRequestId(refused.reply, attributes.request?.headers), headers(), hasTrailers)
  }
  const refuseUnread = (problem: string): void =>
    refuse(unreadableReply(problem, request.attributes()))
  const inspect = async (bytes: Uint8Array): Promise<ReplyFinding> => {
    if (bytes.length === 0) return { type: 'unread' }
    const attributes = request.attributes()
    const context = { guard, headers: headers(), attributes, hadBody: request.hadBody() }
    return inPhaseSpan(deps, guard.route, 'response', (own) =>
      inspectReply(bytes, { ...context, signal: stream.signal }, own),
    )
  }
  const phase = createGuardedPhase('response', stream, deps, {
    tooLarge: () => refuseUnread(TOO_LARGE),
    busy: () => refuse(busyReply(request.attributes())),
    complete: async (held, hasTrailers) => {
      const joining = inTurns(joinInTurns(held.take()), stream.signal)
      const bytes = joining instanceof Promise ? await joining : joining
      if (bytes === undefined) return
      let prepared: PreparedAnswer | undefined
      const finding = await meanwhile(inspect(bytes), () => {
        prepared = prepareAnswer(bytes, stream, (to) =>
          sendPassed(to, UNCHANGED, bytes, headers(), hasTrailers),
        )
      })
      if (finding.type === 'aborted') return
      if (finding.type === 'refused') return refuse(finding, hasTrailers)
      const sending =
        finding.type === 'same' && prepared !== undefined
          ? sendPrepared(stream, prepared)
          : sendPassed(stream, finding, bytes, headers(), hasTrailers)
      if (sending !== undefined) await sending
      phase.become('done')
    },
  })
  return { phase, refuseUnread }
}

// Decides from the headers of a guarded reply how its body is handled.

/** What a reply may turn out to be, and the decoder for its Content-Encoding. */
interface MayBeStreamed {
  readonly form: StreamedForm
  readonly decoder: Decoder
  /** Whether the headers say the form. */
  readonly isDeclared: boolean
}

/** How the body of a reply is handled. */
type ReplyPlan =
  /** Passed on as it arrives. */
  | { readonly type: 'pass' }
  | { readonly type: 'refuse'; readonly problem: string }
  /** As events, or as lines. */
  | { readonly type: 'stream'; readonly form: StreamedForm; readonly decoder: Decoder }
  /** streamed: present if the headers do not tell a streamed reply from a whole one. */
  | { readonly type: 'hold'; readonly streamed: MayBeStreamed | undefined }

/** path: the request's path. */
function replyPlan(guard: Guard, headers: Headers, path: string, deps: GuardDeps): ReplyPlan {
  const { maxBodyBytes } = deps
  if (guard.response.length === 0) return { type: 'pass' }
  const problem = isSuccess(headers) ? problemOfReply(headers) : undefined
  if (problem !== undefined)
    return passesUnread(guard, problem, deps) ? { type: 'pass' } : { type: 'refuse', problem }
  const form = isSuccess(headers) ? declaredForm(headers) : undefined
  if (form !== undefined) {
    const decoder = decoderOf(encodingOf(headers), { maxBytes: maxBodyBytes })
    return decoder === undefined
      ? { type: 'refuse', problem: UNREADABLE_ENCODING }
      : { type: 'stream', form, decoder }
  }
  if (lengthOfReply(headers) > maxBodyBytes) return { type: 'refuse', problem: TOO_LARGE }
  const perhaps = mayBe(headers, path)
  const decoder = perhaps && decoderOf(encodingOf(headers), { maxBytes: maxBodyBytes })
  const isDeclared = perhaps !== 'events' || isEventStream(headers)
  return { type: 'hold', streamed: decoder && { form: perhaps, decoder, isDeclared } }
}

/** What the headers say about a streamed reply; undefined: nothing. */
function declaredForm(headers: Headers): StreamedForm | undefined {
  // A stream of events has no length: this is JSON that is declared as one, or short enough to be told from it.
  if (isEventStream(headers)) return headers.has('content-length') ? undefined : 'events'
  return isOfLines(headers) ? 'lines' : undefined
}

/** Servers may declare events and answer in JSON, or declare JSON or text and send events. undefined: it can only be whole. */
function mayBe(headers: Headers, path: string): StreamedForm | undefined {
  if (isSuccess(headers))
    return streamsAsArray(path) && !isEventStream(headers) ? 'array' : 'events'
  return isEventStream(headers) ? 'events' : undefined
}

/** Whether streams are one JSON array, as Gemini's are unless the client asks for events. */
const streamsAsArray = (path: string): boolean => apiOfPath(path) === 'gemini'

// Seals the session that an MCP server names in its reply (mcp.bindSession), whatever else is done with the reply.

import { errorBody, NO_ID } from '../../extauthz/mcp/mcp-problem.js'
import {
  SESSION_HEADER,
  type SessionSeal,
  sessionSubject,
} from '../../extauthz/oauth/session-seal.js'
import type { JsonObject } from '../../model/json.js'
import { isJsonObject } from '../../model/json.js'
import { immediateResponse, type Reply, withRequestId } from '../session/immediate-response.js'
import { claimsIn, sessionIn } from '../session/own-metadata.js'
import type { Headers } from '../session/process-message.js'
import type { Processor, ProcessorStream } from '../session/processor.js'

/** What sealing needs besides the stream. */
export interface SealedSessionsDeps {
  readonly seal: SessionSeal
  /** Called when a reply is withheld, after its answer was sent. asking: headers of the request, if they were sent. */
  onWithheld(this: void, withheld: WithheldSession): void
}

/** A reply whose session cannot be sealed. */
export interface WithheldSession {
  readonly reason: string
  readonly status: number
  /** For the log, without the id. */
  readonly problem: string
  readonly headers: Headers
  /** Claims of the caller. */
  readonly claims: JsonObject | undefined
}

/** create: makes the processor that does the rest, for a stream whose replies get the sealed session. */
export function withSealedSessions(
  stream: ProcessorStream,
  { seal, onWithheld }: SealedSessionsDeps,
  create: (stream: ProcessorStream) => Processor,
): Processor {
  let asking: Headers = new Map()
  let metadata: Buffer | undefined
  let isRefused = false
  let added: Readonly<Record<string, string>> = {}
  const inner = create({ ...stream, replyHeaders: () => added })
  const refuse = (problem: string, claims: JsonObject | undefined): void => {
    isRefused = true
    stream.send(immediateResponse(withRequestId(UNUSABLE, asking)))
    onWithheld({ reason: DETAILS, status: UNUSABLE.status, problem, headers: asking, claims })
  }
  return {
    requestHeaders: (message, first) => {
      asking = message.headers
      metadata = first.metadata
      return inner.requestHeaders(message, first)
    },
    responseHeaders: (message, first) => {
      const ids = message.headers.get(SESSION_HEADER)
      if (ids !== undefined) {
        const caller = callerIn(metadata ?? first.metadata)
        const sealed = ids.length === 1 ? sealedFor(caller, ids[0] ?? '', seal) : undefined
        if (sealed === undefined) return refuse(problemOf(caller), caller.claims)
        added = { [SESSION_HEADER]: sealed }
      }
      return inner.responseHeaders(message, first)
    },
    requestBody: (message) => (isRefused ? undefined : inner.requestBody(message)),
    requestTrailers: () => (isRefused ? undefined : inner.requestTrailers()),
    responseBody: (message) => (isRefused ? undefined : inner.responseBody(message)),
    responseTrailers: () => (isRefused ? undefined : inner.responseTrailers()),
    isDone: () => isRefused || inner.isDone(),
  }
}

interface Caller {
  readonly claims: JsonObject | undefined
  readonly subject: string | undefined
  /** The session that the request named, as the client sent it. */
  readonly named: string | undefined
}

function callerIn(metadata: Buffer | undefined): Caller {
  const json = metadata && claimsIn(metadata)?.json
  const claims = isJsonObject(json) ? json : undefined
  return {
    claims,
    subject: claims && sessionSubject(claims),
    named: metadata && sessionIn(metadata),
  }
}

/** Some servers repeat the id in each reply, and some clients refuse one other than theirs: theirs is repeated. */
function sealedFor({ subject, named }: Caller, id: string, seal: SessionSeal): string | undefined {
  if (subject === undefined) return undefined
  const isNamed = named !== undefined && seal.open(named, subject) === id
  return isNamed ? named : seal.seal(id, subject)
}

const problemOf = ({ subject }: Caller): string =>
  subject === undefined
    ? 'its caller is not known, to whom its session would be bound'
    : 'its Mcp-Session-Id is not one id of 1 to 1,024 visible ASCII characters'

const DETAILS = 'unusable_session'
/** JSON-RPC's internal error. */
const INTERNAL = -32_603

const UNUSABLE: Reply = {
  status: 502,
  headers: { 'content-type': 'application/json', 'cache-control': 'no-store' },
  body: Buffer.from(
    errorBody(INTERNAL, 'Bad gateway: the session of the server cannot be bound', NO_ID),
  ),
  details: DETAILS,
}

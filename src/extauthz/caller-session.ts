// Checks that the session of a request is its caller's (mcp.bindSession), and finds the server's own id of it.

import type { CheckRequest } from './check-request.js'
import type { CheckReply, Decision, Refusal } from './decision.js'
import { errorBody, FORBIDDEN_CODE, NO_ID } from './mcp/mcp-problem.js'
import {
  type OpenedSession,
  SESSION_HEADER,
  type SessionSeal,
  sessionSubject,
} from './oauth/session-seal.js'
import type { RememberedToken } from './token/token-memory.js'

/** Returns undefined if the request names no session, as at its beginning. */
export function openSession(
  seal: SessionSeal,
  { headers }: CheckRequest,
  { claims }: Pick<RememberedToken, 'claims'>,
): OpenedSession | Refusal | undefined {
  const subject = sessionSubject(claims.json)
  if (subject === undefined) return refuseWithoutSubject
  const sealed = headers.get(SESSION_HEADER)
  if (sealed === undefined) return undefined
  const only = typeof sealed === 'string' ? sealed : ''
  const id = seal.open(only, subject)
  return id === undefined ? UNKNOWN : { id, sealed: only }
}

/** Whether the session may not be used. */
export const isRefused = (session: OpenedSession | Refusal | undefined): session is Refusal =>
  session !== undefined && 'reply' in session

/** Returns the decision with the session that the server gets. */
export const withSession = (decision: Decision, session: OpenedSession): Decision =>
  decision.type === 'allow' ? { ...decision, session } : decision

const answer = (status: CheckReply['status'], code: number, message: string): CheckReply => ({
  status,
  headers: [['content-type', 'application/json']],
  body: errorBody(code, message, NO_ID),
})

/** JSON-RPC's code for a session that servers do not know, as the official SDKs write it. */
const UNKNOWN_CODE = -32_001

/** 404, upon which a client begins a new session (MCP 2025-11-25, transports, session management). */
const UNKNOWN: Refusal = {
  type: 'reply',
  reason: 'unknown-session',
  reply: answer(404, UNKNOWN_CODE, 'Session not found'),
}

const NO_SUBJECT =
  'Forbidden: the token has no subject (sub), to which this server binds its sessions'

/** Denies a caller to whom no session can be bound. */
export const refuseWithoutSubject: Refusal = {
  type: 'reply',
  reason: 'no-subject',
  reply: answer(403, FORBIDDEN_CODE, NO_SUBJECT),
}

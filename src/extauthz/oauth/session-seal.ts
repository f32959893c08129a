// Binds sessions of MCP (Mcp-Session-Id) to their callers: a client gets the server's id sealed together with the subject
// of its token, and only that subject can use it.

import { hash, randomBytes } from 'node:crypto'
import type { JsonObject } from '../../model/json.js'
import type { SessionBinding } from '../../model/session-binding.js'
import { createVault } from './vault.js'

/** The header of MCP's HTTP transport that names a session. */
export const SESSION_HEADER = 'mcp-session-id'

/** Seals and opens the ids of sessions. */
export interface SessionSeal {
  /** NAMESPACE/NAME of the ProxyPolicy, for logs. */
  readonly policy: string
  /** Returns base64url of at most 1.6 KB. undefined: not an id that MCP allows, or longer than 1,024 characters. */
  seal(id: string, subject: string): string | undefined
  /** Returns the server's id. undefined: not sealed here for this subject. */
  open(sealed: string, subject: string): string | undefined
}

/** A session that its caller may use. */
export interface OpenedSession {
  /** What the server gets. */
  readonly id: string
  /** What the client sent. */
  readonly sealed: string
}

/** Ids of MCP: visible ASCII characters (revision 2025-11-25, transports, session management). */
const ID = /^[!-~]{1,1024}$/

/** Creates the seal of a policy. */
export function createSessionSeal({ policy, issuer, sealingKeys }: SessionBinding): SessionSeal {
  const bound = { policy, issuer: '', providerIssuer: issuer, sealingKeys }
  const vault = createVault(bound, { random: randomBytes })
  return {
    policy,
    seal: (id, subject) =>
      ID.test(id) ? vault.seal('session', { i: id, s: hashOf(subject) }) : undefined,
    open: (sealed, subject) => {
      const { i, s } = vault.open('session', sealed, NEVER) ?? NOTHING
      return typeof i === 'string' && s === hashOf(subject) ? i : undefined
    },
  }
}

/** Returns a text of fixed length, however long the subject is. */
const hashOf = (subject: string): string => hash('sha256', subject, 'base64url')

const NOTHING: JsonObject = {}
/** A sealed session has no end of its own: the server ends it. */
const NEVER = 0

/** Returns the subject that sessions are bound to (RFC 7519 section 4.1.2); undefined: the token names none. */
export const sessionSubject = ({ sub }: JsonObject): string | undefined =>
  typeof sub === 'string' && sub !== '' ? sub : undefined

// Keeps one HTTPS agent and its connections for as long as the credentials stay the same. The library makes an agent
// per call, and so a TLS connection for each of thousands of statuses.

import { hash } from 'node:crypto'
import { Agent, type AgentOptions } from 'node:https'

/** The kept agent. */
export interface KeptAgent {
  /** Returns the kept agent instead of the one made for a call. Proxy agents are returned unchanged. */
  instead(made: unknown): unknown
}

/** Closes idle connections long before the API server would, as a call could run into its close. */
const IDLE_MS = 10_000

/** Creates a keeper without an agent. */
export function createKeptAgent(): KeptAgent {
  let kept: { readonly identity: string; readonly agent: Agent } | undefined
  return {
    instead: (made) => {
      if (!(made instanceof Agent) || made.constructor !== Agent) return made
      const identity = identityOf(made.options)
      if (kept?.identity === identity) return kept.agent
      kept?.agent.destroy()
      kept = {
        identity,
        agent: new Agent({ ...made.options, keepAlive: true, timeout: IDLE_MS }),
      }
      return kept.agent
    },
  }
}

const identityOf = ({
  ca,
  cert,
  key,
  pfx,
  passphrase,
  rejectUnauthorized,
  servername,
}: AgentOptions): string =>
  hash(
    'sha256',
    JSON.stringify([ca, cert, key, pfx, passphrase, rejectUnauthorized, servername].map(String)),
  )

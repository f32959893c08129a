// The library makes an agent for every call, and so a TLS connection for each of thousands of statuses. This keeps one agent,
// with its connections, for as long as the credentials stay the same.

import { hash } from 'node:crypto'
import { Agent, type AgentOptions } from 'node:https'

export interface KeptAgent {
  /** The agent to use in place of the one that was made for a call; proxies are left as they are. */
  instead(made: unknown): unknown
}

/** An idle connection is closed long before the API server would do it, which a call could meet half-way. */
const IDLE_MS = 10_000

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

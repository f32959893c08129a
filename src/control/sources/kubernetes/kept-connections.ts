// Keeps connections to the API server for as long as the credentials stay the same. The library opens one for each watch,
// and calls with the first credentials that it has read, for ever.

import { hash } from 'node:crypto'
import { Agent, type RequestOptions } from 'node:https'
import type { KubeConfig } from '@kubernetes/client-node'
import { Agent as Dispatcher } from 'undici'
import { nextTurn } from '../../../kit/turns.js'

/** The kept agent. */
export interface KeptAgent {
  /** Returns the agent for a call with these options of KubeConfig. Proxy agents are returned unchanged. */
  agentFor(options: RequestOptions): RequestOptions['agent']
}

/** Closes idle connections long before the API server would, as a call could run into its close. */
const IDLE_MS = 10_000

/** Creates a keeper without an agent. */
export function createKeptAgent(): KeptAgent {
  const kept = keptFor(
    (credentials) => new Agent({ ...credentials, keepAlive: true, timeout: IDLE_MS }),
    (agent) => agent.destroy(),
  )
  return {
    agentFor(options) {
      const { agent: made } = options
      return made instanceof Agent && made.constructor === Agent ? kept(options) : made
    },
  }
}

/** What a Watch reads of its configuration. */
export type WatchConfig = Pick<KubeConfig, 'getCurrentCluster' | 'applySecurityAuthentication'>

/** Returns the configuration for watches that share connections, unless they go through a proxy. */
export function keepingConnections(config: KubeConfig): WatchConfig {
  const dispatcherFor = keptFor(
    (credentials) => {
      const made = config.createDispatcherOptions(config.getCurrentCluster(), credentials)
      if (made.type === 'proxy' || made.type === 'socks') return undefined
      const connect = made.type === 'agent' ? made.connect : {}
      // Over HTTP/2, one dead connection would hold all watches, and be given the next ones too.
      return new Dispatcher({ connect, allowH2: false })
    },
    // Watches that run over it go on until their end.
    (dispatcher) => void dispatcher?.close().catch(() => undefined),
  )
  return {
    getCurrentCluster: () => config.getCurrentCluster(),
    async applySecurityAuthentication(context) {
      const options: RequestOptions = {}
      await config.applyToHTTPSOptions(options)
      await config.applySecurityAuthentication(context)
      // The connection of a watch that has just ended is free in the next turn.
      await nextTurn()
      const dispatcher = dispatcherFor(options)
      if (dispatcher !== undefined) context.setDispatcher(dispatcher)
    },
  }
}

type Credentials = Pick<
  RequestOptions,
  'ca' | 'cert' | 'key' | 'pfx' | 'passphrase' | 'rejectUnauthorized' | 'servername'
>

const credentialsOf = ({
  ca,
  cert,
  key,
  pfx,
  passphrase,
  rejectUnauthorized,
  servername,
}: Credentials): Credentials => ({
  ca,
  cert,
  key,
  pfx,
  passphrase,
  servername,
  ...(rejectUnauthorized !== undefined && { rejectUnauthorized }),
})

/** Returns a function that makes one thing for the same credentials, and ends it when others are given. */
function keptFor<Thing>(
  make: (credentials: Credentials) => Thing,
  end: (thing: Thing) => void,
): (options: Credentials) => Thing {
  let kept: { readonly identity: string; readonly thing: Thing } | undefined
  return (options) => {
    const credentials = credentialsOf(options)
    const identity = hash('sha256', JSON.stringify(Object.entries(credentials).map(String)))
    if (kept?.identity === identity) return kept.thing
    if (kept !== undefined) end(kept.thing)
    kept = { identity, thing: make(credentials) }
    return kept.thing
  }
}

// Keeps connections to the API server for as long as the credentials stay the same. The library opens one for each watch,
// and calls with the first credentials that it has read, for ever.

import { hash } from 'node:crypto'
import { Agent, type RequestOptions } from 'node:https'
import type { KubeConfig } from '@kubernetes/client-node'
import { Agent as Dispatcher } from 'undici'
import { nextTurn } from '../../turns.js'

/** The kept agent. */
export interface KeptAgent {
  /** Returns the agent for a call with these options of KubeConfig. Proxy agents are returned unchanged. */
  agentFor(options: RequestOptions): RequestOptions['agent']
}

/** Closes idle connections long before the API server would, as a call could run into its close. */
const IDLE_MS = 10_000

/** Creates a keeper without an agent. */
export function createKeptAgent(): KeptAgent {
  let kept: { readonly identity: string; readonly agent: Agent } | undefined
  return {
    agentFor(options) {
      const { agent: made } = options
      if (!(made instanceof Agent) || made.constructor !== Agent) return made
      const identity = identityOf(options)
      if (kept?.identity === identity) return kept.agent
      kept?.agent.destroy()
      kept = {
        identity,
        agent: new Agent({ ...credentialsOf(options), keepAlive: true, timeout: IDLE_MS }),
      }
      return kept.agent
    },
  }
}

/** What a Watch reads of its configuration. */
export type WatchConfig = Pick<KubeConfig, 'getCurrentCluster' | 'applySecurityAuthentication'>

/** Returns the configuration for watches that share connections, unless they go through a proxy. */
export function keepingConnections(config: KubeConfig): WatchConfig {
  let kept: { readonly identity: string; readonly dispatcher: Dispatcher } | undefined
  const dispatcherFor = (options: RequestOptions): Dispatcher | undefined => {
    const made = config.createDispatcherOptions(config.getCurrentCluster(), credentialsOf(options))
    if (made.type === 'proxy' || made.type === 'socks') return undefined
    const connect = made.type === 'agent' ? made.connect : {}
    const identity = identityOf(options)
    if (kept?.identity !== identity) {
      // Watches that run over it go on until their end.
      kept?.dispatcher.close().catch(() => undefined)
      // Over HTTP/2, one dead connection would hold all watches, and be given the next ones too.
      kept = { identity, dispatcher: new Dispatcher({ connect, allowH2: false }) }
    }
    return kept.dispatcher
  }
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
  ...{ ca, cert, key, pfx, passphrase, servername },
  ...(rejectUnauthorized !== undefined && { rejectUnauthorized }),
})

const identityOf = (options: Credentials): string =>
  hash('sha256', JSON.stringify(Object.entries(credentialsOf(options)).map(String)))

// HTTP/2 sessions that let go of the streams that have ended. Node keeps a session's streams in a Map (box-map.ts says
// what that does), and each with all of its call: a third of what a call allocates would be copied twice, then collected
// from the old generation. Node has no setting for it: where a session looks different from within, it stays as it is.

import type { Server } from '@grpc/grpc-js'
import type { Http2Server, Http2Session } from 'node:http2'
import { BoxMap } from './box-map.js'

/** For the sessions of every address that is bound, or given an injector, so far. */
export const forgetEndedStreams = (server: Server): void => {
  for (const http2Server of http2Servers(server)) http2Server.on('session', replaceStreams)
}

/** grpc-js has them, but in a private member. */
const http2Servers = (server: Server): Iterable<Http2Server> => {
  const { http2Servers: servers } = server as unknown as { http2Servers?: unknown }
  return servers instanceof Map ? (servers as Map<Http2Server, unknown>).keys() : []
}

/** false: there was nothing to replace. */
export const replaceStreams = (session: Http2Session): boolean => {
  const state = stateOf(session)
  if (state === undefined || state.streams.size > 0) return false
  state.streams = new BoxMap()
  return true
}

interface SessionState {
  streams: { readonly size: number }
}

const stateOf = (session: Http2Session): SessionState | undefined => {
  const symbol = Object.getOwnPropertySymbols(session).find(
    ({ description }) => description === 'state',
  )
  const state: unknown = symbol && Reflect.get(session, symbol)
  return hasStreams(state) ? state : undefined
}

const hasStreams = (state: unknown): state is SessionState =>
  typeof state === 'object' &&
  state !== null &&
  'streams' in state &&
  Object.prototype.toString.call(state.streams) === '[object Map]'

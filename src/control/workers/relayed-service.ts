// In a worker: a stand-in for a service of the main process that forwards its streams message by message.

import { ENVOY_TOKEN_HEADER } from '../../model/names.js'
import type { GrpcService, StreamCall, StreamListener } from '../../wire/grpc/service.js'
import { Status } from '../../wire/grpc/status.js'
import type { RelayedDescription, StreamToMain, StreamToWorker } from './messages.js'

/** A service whose streams are forwarded. */
export interface RelayedService {
  readonly service: GrpcService
  /** Handles a message of the main process; ignored if its stream is over or belongs to another service. */
  receive(message: StreamToWorker): void
}

interface Relayed {
  readonly call: StreamCall
  readonly stream: number
  /** Bytes that the client has not taken yet. */
  untaken: number
}

/** nextStream: returns stream numbers that are unique among all services. */
export function createRelayedService(
  { name, methods }: RelayedDescription,
  post: (message: StreamToMain) => void,
  nextStream: () => number,
): RelayedService {
  const open = new Map<number, Relayed>()

  function begin(method: string, call: StreamCall): StreamListener {
    const stream = nextStream()
    const relayed: Relayed = { call, stream, untaken: 0 }
    open.set(stream, relayed)
    const { peer, deadline } = call
    const tokens = call.metadata(ENVOY_TOKEN_HEADER)
    post({ type: 'stream-open', stream, service: name, method, peer, deadline, tokens })
    return listenerOf(relayed, post, () => void open.delete(stream))
  }

  return {
    service: {
      name,
      methods: Object.fromEntries(
        methods.map((method) => [method, { type: 'stream', open: (call) => begin(method, call) }]),
      ),
      drain() {
        for (const [stream, { call }] of open) {
          post({ type: 'stream-done', stream, how: 'cancel' })
          call.end(Status.UNAVAILABLE, 'shutting down')
        }
        open.clear()
      },
    },
    receive(message) {
      const relayed = open.get(message.stream)
      if (relayed === undefined) return
      if (message.type === 'stream-end') open.delete(message.stream)
      act(relayed, message, post)
    },
  }
}

function listenerOf(
  relayed: Relayed,
  post: (message: StreamToMain) => void,
  onOver: () => void,
): StreamListener {
  const { stream } = relayed
  return {
    onMessage: (message) => post({ type: 'stream-message', stream, message }),
    onEnd: () => post({ type: 'stream-done', stream, how: 'end' }),
    onCancel() {
      onOver()
      post({ type: 'stream-done', stream, how: 'cancel' })
    },
    onDrain: () => tellTaken(relayed, post),
  }
}

function act(
  relayed: Relayed,
  message: StreamToWorker,
  post: (message: StreamToMain) => void,
): void {
  const { call } = relayed
  switch (message.type) {
    case 'stream-send':
      relayed.untaken += message.message.length
      if (call.send(message.message)) tellTaken(relayed, post)
      return
    case 'stream-pause':
      return message.paused ? call.pause() : call.resume()
    case 'stream-end':
      return call.end(message.status, message.details)
  }
}

function tellTaken(relayed: Relayed, post: (message: StreamToMain) => void): void {
  post({ type: 'stream-taken', stream: relayed.stream, bytes: relayed.untaken })
  relayed.untaken = 0
}

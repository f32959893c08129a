// Serves gRPC calls on the HTTP/2 connection of one socket.

import type { Socket } from 'node:net'
import { Connection } from '../http2/connection.js'
import { ReadTurns } from '../http2/read-turns.js'
import type { RequestHead } from '../http2/request-head.js'
import type { Stream, StreamHandler } from '../http2/stream.js'
import { SocketTransport } from '../http2/transport.js'
import { type CallHead, type Methods, readCallHead } from './call-head.js'
import { HeldMessages, type MessageBudget } from './message-budget.js'
import { MessageStream } from './message-stream.js'
import type { Peer } from './peer.js'
import { encodeTrailersOnly, NOT_GRPC_HEADERS, NOT_GRPC_TEXT, Status } from './status.js'
import { type CallConnection, UnaryCall } from './unary-call.js'

/** What connections are served with. */
export interface ServeOptions {
  readonly methods: Methods
  readonly peer: Peer
  /** What the unfinished messages of all connections may hold. */
  readonly messages: MessageBudget
  /** Called with an internal error. Its message must not be logged, as it may contain data of a request. */
  onFault(error: unknown): void
}

/** All connections of the process share one thread. */
const readTurns = new ReadTurns()

/** Serves the calls that arrive on a socket. */
export function serveConnection(socket: Socket, options: ServeOptions): Connection {
  const { methods, peer } = options
  const onFault = (error: unknown): void => options.onFault(error)
  const shared: CallConnection = { peer, held: new HeldMessages(options.messages), onFault }
  // While a client repeats the same header block, the head is the same object.
  let lastHead: RequestHead | undefined
  let lastCall: CallHead | undefined
  const callOf = (head: RequestHead): CallHead => {
    if (lastCall === undefined || lastHead !== head) {
      lastCall = readCallHead(head, methods)
      lastHead = head
    }
    return lastCall
  }
  const transport = new SocketTransport(socket)
  const connection = new Connection({
    transport,
    open: (head, stream) => openCall({ call: callOf(head), head, stream, connection: shared }),
    now: () => performance.now(),
    onFault,
  })
  const receive = (chunk: Buffer): void => {
    connection.receive(chunk)
    transport.onRead(chunk.length)
  }
  socket.on('data', (chunk: Buffer) => {
    if (readTurns.take(chunk.length)) return receive(chunk)
    transport.rest()
    readTurns.later(chunk.length, () => {
      transport.goOn()
      receive(chunk)
    })
  })
  socket.on('drain', () => connection.onDrain())
  socket.on('close', () => connection.onClose())
  // Ignored, because 'close' follows.
  socket.on('error', () => {})
  return connection
}

interface Opening {
  readonly call: CallHead
  readonly head: RequestHead
  readonly stream: Stream
  readonly connection: CallConnection
}

function openCall({ call, head, stream, connection }: Opening): StreamHandler {
  switch (call.type) {
    case 'not-grpc':
      return new Refusal(stream, NOT_GRPC_HEADERS, NOT_GRPC_TEXT)
    case 'unimplemented':
      return new Refusal(stream, NO_SUCH_METHOD)
    case 'call': {
      const { method, timeoutMs } = call
      if (method.type === 'unary') return new UnaryCall(method, stream, head, timeoutMs, connection)
      const opened = new MessageStream(stream, head, timeoutMs, connection)
      opened.open(method)
      return opened
    }
  }
}

const NO_SUCH_METHOD = encodeTrailersOnly(Status.UNIMPLEMENTED, 'no such method')

const NOTHING = new Uint8Array(0)

/** Discards the content of a request and answers with an error at its end. */
class Refusal implements StreamHandler {
  readonly #stream: Stream
  readonly #headers: Uint8Array
  readonly #content: Uint8Array | undefined

  constructor(stream: Stream, headers: Uint8Array, content?: Uint8Array) {
    this.#stream = stream
    this.#headers = headers
    this.#content = content
  }

  onData(bytes: Buffer): void {
    this.#stream.consume(bytes.length)
  }

  onEnd(): void {
    this.#stream.respond(this.#headers, this.#content === undefined)
    if (this.#content === undefined) return
    this.#stream.send(NOTHING, this.#content)
    this.#stream.end()
  }

  onReset(): void {}

  onDrain(): void {}
}

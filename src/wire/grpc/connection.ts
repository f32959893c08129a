// Serves gRPC calls on the HTTP/2 connection of one socket.

import type { Socket } from 'node:net'
import { Connection } from '../http2/connection.js'
import { ReadTurns } from '../http2/read-turns.js'
import type { RequestHead } from '../http2/request-head.js'
import type { Stream, StreamHandler } from '../http2/stream.js'
import { SocketTransport } from '../http2/transport.js'
import { type CallHead, type Methods, readCallHead } from './call-head.js'
import { HeldMessages, type MessageBudget, UNSHARED } from './message-budget.js'
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
  /** Within how many milliseconds a message must have arrived whole. Absent: 30 s. */
  readonly arrivalMs?: number | undefined
  /** Called with an internal error. Its message must not be logged, as it may contain data of a request. */
  onFault(error: unknown): void
}

/** Long enough for a message of 32 MiB on a slow network. */
const ARRIVAL_MS = 30_000

/** Maximum open calls of public methods per connection. Orchestrators and Envoys have one or two. */
const MAX_PUBLIC_CALLS = 64

/** What unfinished messages of a connection's public calls may hold, apart from the budget of all. */
const PUBLIC_MESSAGES: MessageBudget = { ...UNSHARED, mostOfOne: 64 * 1024 }

/** All connections of the process share one thread. */
const readTurns = new ReadTurns()

/** Serves the calls that arrive on a socket. */
export function serveConnection(socket: Socket, options: ServeOptions): Connection {
  const { methods, peer } = options
  const onFault = (error: unknown): void => options.onFault(error)
  const now = (): number => performance.now()
  const held = new HeldMessages(options.messages)
  const { arrivalMs = ARRIVAL_MS } = options
  const shared: CallConnection = { peer, held, arrivalMs, now, onFault }
  const publicCalls = new PublicCalls({ ...shared, held: new HeldMessages(PUBLIC_MESSAGES) })
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
    open: (head, stream) =>
      openCall({ call: callOf(head), head, stream, connection: shared, publicCalls }),
    heads: held,
    now,
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
  readonly publicCalls: PublicCalls
}

function openCall(opening: Opening): StreamHandler {
  const { call, stream, connection } = opening
  if (call.type === 'call')
    return call.method.isPublic
      ? opening.publicCalls.open(call, stream)
      : beginCall(call, opening.head, stream, connection)
  // Nothing of the headers is read again.
  stream.forgetHead()
  return call.type === 'not-grpc'
    ? new Refusal(connection, stream, NOT_GRPC_HEADERS, NOT_GRPC_TEXT)
    : new Refusal(connection, stream, NO_SUCH_METHOD)
}

function beginCall(
  { method, timeoutMs }: KnownCall,
  head: RequestHead,
  stream: Stream,
  connection: CallConnection,
): StreamHandler {
  if (method.type === 'unary') {
    const call = new UnaryCall(method, stream, head, timeoutMs, connection)
    call.open()
    return call
  }
  const opened = new MessageStream(stream, head, timeoutMs, connection)
  opened.open(method)
  return opened
}

type KnownCall = Extract<CallHead, { readonly type: 'call' }>

/** The open calls of public methods: few, and without their headers. */
class PublicCalls {
  readonly #connection: CallConnection
  /** Some may have been closed since. */
  readonly #streams = new Set<Stream>()

  constructor(connection: CallConnection) {
    this.#connection = connection
  }

  open(call: KnownCall, stream: Stream): StreamHandler {
    stream.forgetHead()
    if (this.#streams.size >= MAX_PUBLIC_CALLS)
      for (const before of this.#streams) if (before.isClosed) this.#streams.delete(before)
    if (this.#streams.size >= MAX_PUBLIC_CALLS)
      return new Refusal(this.#connection, stream, TOO_MANY_CALLS)
    this.#streams.add(stream)
    return beginCall(call, NO_HEAD, stream, this.#connection)
  }
}

const NO_HEAD: RequestHead = {
  method: '',
  scheme: '',
  path: '',
  fields: [],
  contentLength: undefined,
}

const TOO_MANY_CALLS = encodeTrailersOnly(Status.RESOURCE_EXHAUSTED, 'too many calls at once')
const NO_SUCH_METHOD = encodeTrailersOnly(Status.UNIMPLEMENTED, 'no such method')

const NOTHING = new Uint8Array(0)

/** Discards the content of a request and answers with an error at its end, or when that is late. */
class Refusal implements StreamHandler {
  readonly #connection: CallConnection
  readonly #endsBy: number
  readonly #stream: Stream
  readonly #headers: Uint8Array
  readonly #content: Uint8Array | undefined
  #isAnswered = false

  constructor(
    connection: CallConnection,
    stream: Stream,
    headers: Uint8Array,
    content?: Uint8Array,
  ) {
    this.#connection = connection
    this.#endsBy = connection.now() + connection.arrivalMs
    this.#stream = stream
    this.#headers = headers
    this.#content = content
  }

  onData(bytes: Buffer): void {
    this.#stream.consume(bytes.length)
  }

  onEnd(): void {
    if (this.#isAnswered) return
    this.#isAnswered = true
    this.#stream.respond(this.#headers, this.#content === undefined)
    if (this.#content === undefined) return
    this.#stream.send(NOTHING, this.#content)
    this.#stream.end()
  }

  onTick(): void {
    if (this.#connection.now() >= this.#endsBy) this.onEnd()
  }

  onReset(): void {}

  onDrain(): void {}
}

// The ADS service: every connected Envoy gets its gateway's snapshot, state of the world or incremental.

import { errorText } from '../../errors.js'
import { AggregatedDiscoveryService } from '../../grpc/generated/envoy/service/discovery/v3/ads_pb.js'
import type { Peer } from '../../grpc/peer.js'
import type { GrpcService } from '../../grpc/service.js'
import { GrpcError, Status } from '../../grpc/status.js'
import type { TypedStreamCall, TypedStreamListener } from '../../grpc/typed-methods.js'
import { streamMethod } from '../../grpc/typed-methods.js'
import { createLogLimit, type LogLimit } from '../../log-limit.js'
import type { Logger } from '../../logger.js'
import { CLUSTER_TYPE, PUSH_ORDER, SECRET_TYPE, shortType } from '../encode/type-urls.js'
import type { StreamRequest } from './ads-stream.js'
import { AdsStream } from './ads-stream.js'
import { type AnyRequest, type Dialect, incremental, world } from './protocols.js'
import type { NodeSnapshot, SnapshotCache, SnapshotForm } from './snapshot-cache.js'
import type { Protocol } from './type-stream.js'
import { takesVirtualHosts } from './vhds.js'

/** One stream of one Envoy. */
export interface AdsPeer {
  /** Unique among the streams of this process. */
  readonly stream: number
  /** node.id */
  readonly node: string
  /** node.cluster: the Gateway it serves, "NAMESPACE/NAME", or "*". */
  readonly cluster: string
}

/** type: a type URL. */
export interface AdsObserver {
  onSent?(peer: AdsPeer, type: string, version: string): void
  /** isAll: nothing of the type is refused. */
  onAck?(peer: AdsPeer, type: string, version: string, isAll: boolean): void
  onNack?(peer: AdsPeer, type: string, version: string, message: string): void
  onClose?(peer: AdsPeer): void
}

export interface AdsOptions extends AdsObserver {
  readonly cache: SnapshotCache
  readonly logger: Logger
  readonly metrics: {
    /** type: short, e.g. "Listener". */
    xdsPush(type: string): void
    xdsNack(type: string, node: string): void
  }
  /** Whether private keys may go to the other end (decision 32). */
  mayReceiveSecrets(peer: Peer): boolean
  /** How long changes wait for the answer to what they build on; default 3,000. */
  readonly patienceMs?: number
}

export interface AdsService extends GrpcService {
  /** Every connected Envoy works with the current listeners and routes. */
  settled(): boolean
  /** Ends every stream. */
  close(): void
}

interface Open {
  readonly peer: AdsPeer
  readonly stream: AdsStream
  /** Of lines that the client can cause. */
  readonly limit: LogLimit
  readonly end: () => void
}

const PATIENCE_MS = 3_000
const MAX_REASON_LENGTH = 2_000
/** Above any NAMESPACE/NAME: what a client calls itself stays in logs and status. */
const MAX_NAME_LENGTH = 400

export function createAdsService(options: AdsOptions): AdsService {
  const open = new Set<Open>()
  let streams = 0
  const serve =
    <Request extends AnyRequest, Response>(dialect: Dialect<Request, Response>) =>
    (call: TypedStreamCall<Response>): TypedStreamListener<Request> => {
      streams += 1
      return serveStream({ call, dialect, options, open, number: streams })
    }
  const pushSome = createTurns(open)
  options.cache.subscribe(pushSome)
  const close = (): void => {
    for (const { end } of [...open]) end()
  }
  return {
    name: AggregatedDiscoveryService.typeName,
    methods: {
      StreamAggregatedResources: streamMethod(
        AggregatedDiscoveryService.method.streamAggregatedResources,
        serve(world),
      ),
      DeltaAggregatedResources: streamMethod(
        AggregatedDiscoveryService.method.deltaAggregatedResources,
        serve(incremental),
      ),
    },
    drain: close,
    settled: () => [...open].every(({ stream }) => stream.isCurrent()),
    close,
  }
}

/** Streams that are told of a change in one turn of the loop: a few milliseconds, if each sends little. */
const STREAMS_A_TURN = 8

/** What it returns tells every stream of a change, some in each turn: a hundred Envoys must not hold up checks. */
function createTurns(open: ReadonlySet<Open>): () => void {
  const behind = new Set<Open>()
  let next: NodeJS.Immediate | undefined
  const pushSome = (): void => {
    next = undefined
    let told = 0
    for (const entry of behind) {
      behind.delete(entry)
      entry.stream.push()
      told += 1
      if (told === STREAMS_A_TURN) break
    }
    if (behind.size > 0) next = setImmediate(pushSome)
  }
  return () => {
    for (const entry of open) behind.add(entry)
    if (next === undefined) pushSome()
  }
}

interface Serving<Request, Response> {
  readonly call: TypedStreamCall<Response>
  readonly dialect: Dialect<Request, Response>
  readonly options: AdsOptions
  readonly open: Set<Open>
  readonly number: number
}

function serveStream<Request extends AnyRequest, Response>(
  serving: Serving<Request, Response>,
): TypedStreamListener<Request> {
  const { call, dialect, options, open } = serving
  const outgoing = new Outgoing(call)
  let entry: Open | undefined
  const leave = (): void => {
    if (entry === undefined || !open.delete(entry)) return
    entry.stream.close()
    options.logger.info(entry.peer, 'Envoy disconnected')
    options.onClose?.(entry.peer)
  }
  const receive = (request: Request): void => {
    if (entry === undefined) {
      const peer = peerOf(request, serving.number)
      if (peer === undefined) {
        throw new GrpcError(
          Status.INVALID_ARGUMENT,
          'the first request of a stream must carry node',
        )
      }
      const limit = createLogLimit(() => performance.now())
      const form = formOf(request, dialect.protocol)
      const stream = createStream(serving, { peer, limit, form, outgoing })
      entry = { peer, stream, limit, end: () => (leave(), void call.end()) }
      open.add(entry)
      options.logger.info({ ...peer, protocol: dialect.protocol }, 'Envoy connected')
    }
    handle(entry, dialect.read(request), options)
  }
  return {
    onMessage: (request) => {
      try {
        receive(request)
      } catch (error) {
        if (error instanceof GrpcError) throw error
        const reason = errorText(error)
        options.logger.error({ ...entry?.peer, reason }, 'ADS stream failed')
        throw new GrpcError(Status.INTERNAL, 'internal error')
      }
    },
    onEnd: () => {
      leave()
      call.end()
    },
    onCancel: leave,
    onDrain: () => outgoing.drained(),
  }
}

/** What a stream sends: one response after the other, as fast as Envoy takes them. */
class Outgoing<Response> {
  readonly #call: Pick<TypedStreamCall<Response>, 'send'>
  #sent: (() => void) | undefined

  constructor(call: Pick<TypedStreamCall<Response>, 'send'>) {
    this.#call = call
  }

  /** sent: called later, when there is room for more. */
  send(response: Response, sent: () => void): void {
    if (this.#call.send(response)) setImmediate(sent)
    else this.#sent = sent
  }

  drained(): void {
    const sent = this.#sent
    this.#sent = undefined
    sent?.()
  }
}

/** What the first request of a stream says, and where its responses go. */
interface Begun<Response> {
  readonly outgoing: Outgoing<Response>
  readonly peer: AdsPeer
  readonly form: SnapshotForm
  readonly limit: LogLimit
}

function createStream<Request, Response>(
  { call, dialect, options }: Serving<Request, Response>,
  { peer, limit, form, outgoing }: Begun<Response>,
): AdsStream {
  const secrets = options.mayReceiveSecrets(call.peer)
  let warned = false
  return new AdsStream({
    protocol: dialect.protocol,
    patienceMs: options.patienceMs ?? PATIENCE_MS,
    snapshot: () => {
      const snapshot = options.cache.forNode(peer.cluster, form)
      if (secrets || snapshot === undefined || !snapshot.get(SECRET_TYPE)?.size) return snapshot
      if (!warned)
        options.logger.warn(peer, 'no private keys over a connection that is not private')
      warned = true
      return withoutSecrets(snapshot)
    },
    clustersOf: (version) => options.cache.worlds.recall(peer.cluster, version),
    write: (push, sent) => {
      outgoing.send(dialect.write(push), sent)
      if (dialect.protocol === 'state-of-the-world' && push.typeUrl === CLUSTER_TYPE)
        options.cache.worlds.remember(peer.cluster, push.version, push.resources)
      options.metrics.xdsPush(shortType(push.typeUrl))
      options.onSent?.(peer, push.typeUrl, push.version)
    },
    onAck: (type, version, isAll) => options.onAck?.(peer, type, version, isAll),
    onNack: (type, version, reason) => {
      const message = reason.slice(0, MAX_REASON_LENGTH)
      const named = { ...peer, type: shortType(type), version, reason: message }
      const leftOut = limit.take(`${type} ${version}`)
      if (leftOut !== undefined)
        options.logger.error(
          { ...named, leftOut },
          'Envoy refused the configuration and keeps what it has',
        )
      options.metrics.xdsNack(shortType(type), peer.node)
      options.onNack?.(peer, type, version, message)
    },
  })
}

function handle(
  { stream, peer, limit }: Open,
  request: StreamRequest,
  { logger }: AdsOptions,
): void {
  if (PUSH_ORDER.includes(request.typeUrl)) return stream.handle(request)
  const type = request.typeUrl.slice(0, MAX_NAME_LENGTH)
  const leftOut = limit.take(type)
  if (leftOut !== undefined)
    logger.warn({ ...peer, type, leftOut }, 'Envoy asked for a type that is not served')
}

const peerOf = ({ node }: AnyRequest, stream: number): AdsPeer | undefined =>
  node === undefined
    ? undefined
    : {
        stream,
        node: node.id.slice(0, MAX_NAME_LENGTH),
        cluster: node.cluster.slice(0, MAX_NAME_LENGTH),
      }

const formOf = ({ node }: AnyRequest, protocol: Protocol): SnapshotForm =>
  protocol === 'incremental' && takesVirtualHosts(node) ? 'split' : 'whole'

const withoutSecrets = (snapshot: NodeSnapshot): NodeSnapshot =>
  new Map([...snapshot].filter(([typeUrl]) => typeUrl !== SECRET_TYPE))

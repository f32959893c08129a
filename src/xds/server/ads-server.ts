// The ADS service: sends every connected Envoy the snapshot of its gateway, as state of the world or incrementally.

import { errorText } from '../../errors.js'
import { AggregatedDiscoveryService } from '../../grpc/generated/envoy/service/discovery/v3/ads_pb.js'
import type { Peer } from '../../grpc/peer.js'
import type { GrpcService, StreamCall, StreamListener, StreamMethod } from '../../grpc/service.js'
import { GrpcError, Status } from '../../grpc/status.js'
import { createLogLimit, type LogLimit } from '../../log-limit.js'
import type { Logger } from '../../logger.js'
import { CLUSTER_TYPE, PUSH_ORDER, SECRET_TYPE, shortType } from '../encode/type-urls.js'
import type { StreamRequest } from './ads-stream.js'
import { AdsStream } from './ads-stream.js'
import { envoyVersionOf } from './envoy-version.js'
import { Outgoing, takeInTurn } from './outgoing.js'
import { Preparation } from './prepare.js'
import { type AnyRequest, type Dialect, incremental, world } from './protocols.js'
import { createResponseEncoders, type EncodeResponse } from './responses.js'
import { SharedViews } from './shared-views.js'
import type { NodeSnapshot, SnapshotCache, SnapshotForm } from './snapshot-cache.js'
import { Turns } from './turns.js'
import type { Protocol } from './type-stream.js'
import { takesVirtualHosts } from './vhds.js'
import { WAITS, type Waits } from './waits.js'

/** One stream of one Envoy. */
export interface AdsPeer {
  /** Unique among the streams of this process. */
  readonly stream: number
  /** The node.id of the Envoy. */
  readonly node: string
  /** The node.cluster of the Envoy: the Gateway it serves, "NAMESPACE/NAME", or "*". */
  readonly cluster: string
  /** MAJOR.MINOR.PATCH; absent if the Envoy does not report it. */
  readonly envoyVersion?: string
}

/** Observes ADS streams; type is always a type URL. */
export interface AdsObserver {
  onSent?(peer: AdsPeer, type: string, version: string): void
  /** Called on an ACK; isAll is true if no resource of the type is rejected. */
  onAck?(peer: AdsPeer, type: string, version: string, isAll: boolean): void
  onNack?(peer: AdsPeer, type: string, version: string, message: string): void
  onClose?(peer: AdsPeer): void
}

/** What the ADS service is created with. */
export interface AdsOptions extends AdsObserver {
  readonly cache: SnapshotCache
  readonly logger: Logger
  readonly metrics: {
    /** Counts a response; type is short, e.g. "Listener". */
    xdsPush(type: string): void
    xdsNack(type: string, node: string): void
  }
  /** Whether private keys may be sent to the peer (decision 32). */
  mayReceiveSecrets(peer: Peer): boolean
  /** Returns the only node.cluster that the peer may ask for; undefined: it may ask for any. */
  onlyGatewayOf?(peer: Peer): string | undefined
  /** Absent: the default. */
  readonly waits?: Waits
}

/** The ADS service. */
export interface AdsService extends GrpcService {
  /** Whether every connected Envoy works with the current listeners and routes. */
  settled(): boolean
  /** Ends every stream. */
  close(): void
}

interface Open {
  readonly peer: AdsPeer
  readonly stream: AdsStream
  /** Limits log lines that the client can cause. */
  readonly limit: LogLimit
  readonly end: () => void
  /** Whether it waits for its turn to push a change. */
  isBehind: boolean
}

const MAX_REASON_LENGTH = 2_000
/** Longer than any NAMESPACE/NAME; limits client-supplied names, which stay in logs and status. */
const MAX_NAME_LENGTH = 400

/** Creates the ADS service. */
export function createAdsService(options: AdsOptions): AdsService {
  const open = new Set<Open>()
  let streams = 0
  const [turns, views] = [new Turns(), new SharedViews()]
  const shared = { options, turns, views, open }
  const encoders = createResponseEncoders()
  const serve = <Request extends AnyRequest>(dialect: Dialect<Request>): StreamMethod => ({
    ...({ type: 'stream', isLasting: true } as const),
    open: (call) => {
      streams += 1
      const encode = encoders.of[dialect.protocol]
      return serveStream({ ...shared, call, dialect, encode, number: streams })
    },
  })
  const preparation = new Preparation(turns, views, encoders.prepare)
  const spread = (): void => {
    const snapshot = options.cache.forAll()
    if (snapshot !== undefined) preparation.begin(snapshot)
    pushAll(open, turns)
  }
  // In a turn of its own, as the publication has already taken a part of this one.
  options.cache.subscribe(() => turns.later(spread))
  const close = (): void => {
    for (const { end } of [...open]) end()
  }
  return {
    name: AggregatedDiscoveryService.typeName,
    methods: {
      StreamAggregatedResources: serve(world),
      DeltaAggregatedResources: serve(incremental),
    },
    drain: close,
    settled: () => [...open].every(({ stream }) => stream.isCurrent()),
    close,
  }
}

/** Pushes each stream once, however many changes occur before its turn. */
function pushAll(open: ReadonlySet<Open>, turns: Turns): void {
  for (const entry of open) {
    if (entry.isBehind) continue
    entry.isBehind = true
    turns.run(() => {
      entry.isBehind = false
      entry.stream.push()
    })
  }
}

interface Serving<Request> {
  readonly call: StreamCall
  readonly dialect: Dialect<Request>
  readonly encode: EncodeResponse
  readonly options: AdsOptions
  readonly turns: Turns
  readonly views: SharedViews
  readonly open: Set<Open>
  readonly number: number
}

function serveStream<Request extends AnyRequest>(serving: Serving<Request>): StreamListener {
  const { call, dialect, options, turns, open } = serving
  const outgoing = new Outgoing(call, turns)
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
      expectOwnGateway(peer, options.onlyGatewayOf?.(call.peer))
      const limit = createLogLimit(() => performance.now())
      const form = formOf(request, dialect.protocol)
      const stream = createStream(serving, { peer, limit, form, outgoing })
      entry = { peer, stream, limit, isBehind: false, end: () => (leave(), void call.end()) }
      open.add(entry)
      options.logger.info({ ...peer, protocol: dialect.protocol }, 'Envoy connected')
    }
    handle(entry, dialect.read(request), options)
  }
  const take = (bytes: Uint8Array): void => {
    if (call.isCancelled()) return
    try {
      turns.spend(Math.floor(bytes.length / BYTES_A_UNIT))
      receive(decodeRequest(dialect, bytes))
    } catch (error) {
      const reason = errorText(error)
      if (!(error instanceof GrpcError))
        options.logger.error({ ...entry?.peer, reason }, 'ADS stream failed')
      leave()
      if (error instanceof GrpcError) call.end(error.status, error.message)
      else call.end(Status.INTERNAL, 'internal error')
    }
  }
  return {
    onMessage: (message) => {
      const bytes = Buffer.from(message)
      takeInTurn(call, turns, () => take(bytes))
    },
    onEnd: () => {
      leave()
      call.end()
    },
    onCancel: leave,
    onDrain: () => outgoing.drained(),
  }
}

/** Bytes of a request that cost as much as one resource of a response. */
const BYTES_A_UNIT = 64

function decodeRequest<Request>(dialect: Dialect<Request>, bytes: Uint8Array): Request {
  try {
    return dialect.decode(bytes)
  } catch {
    throw new GrpcError(Status.INTERNAL, 'a message that cannot be read')
  }
}

/** What the first request of a stream determines, and the output for its responses. */
interface Begun {
  readonly outgoing: Outgoing
  readonly peer: AdsPeer
  readonly form: SnapshotForm
  readonly limit: LogLimit
}

function createStream<Request>(
  { call, dialect, encode, options, turns, views }: Serving<Request>,
  { peer, limit, form, outgoing }: Begun,
): AdsStream {
  const secrets = options.mayReceiveSecrets(call.peer)
  let warned = false
  return new AdsStream({
    protocol: dialect.protocol,
    views,
    waits: options.waits ?? WAITS,
    snapshot: () => {
      const snapshot = options.cache.forNode(peer.cluster, form)
      if (secrets || snapshot === undefined || !snapshot.get(SECRET_TYPE)?.size) return snapshot
      if (!warned) options.logger.warn(peer, 'private keys withheld: the connection is not private')
      warned = true
      return withoutSecrets(snapshot)
    },
    clustersOf: (version) => options.cache.sentClusters.find(peer.cluster, version),
    goOn: (answer) => turns.goOn(answer),
    write: (push, sent) => {
      turns.spend(push.resources.length)
      outgoing.send(encode(push), sent)
      if (dialect.protocol === 'state-of-the-world' && push.typeUrl === CLUSTER_TYPE)
        options.cache.sentClusters.remember(peer.cluster, push.version, push.resources)
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
          'Envoy rejected the configuration and keeps the previous one',
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
    logger.warn({ ...peer, type, leftOut }, 'Envoy requested a resource type that is not served')
}

function expectOwnGateway({ cluster }: AdsPeer, only: string | undefined): void {
  if (only === undefined || only === cluster) return
  throw new GrpcError(
    Status.PERMISSION_DENIED,
    only === '' ? 'the Gateway of this Envoy is gone' : `this Envoy serves the Gateway ${only}`,
  )
}

const peerOf = ({ node }: AnyRequest, stream: number): AdsPeer | undefined =>
  node === undefined
    ? undefined
    : {
        stream,
        node: node.id.slice(0, MAX_NAME_LENGTH),
        cluster: node.cluster.slice(0, MAX_NAME_LENGTH),
        ...envoyVersionOf(node),
      }

const formOf = ({ node }: AnyRequest, protocol: Protocol): SnapshotForm =>
  protocol === 'incremental' && takesVirtualHosts(node) ? 'split' : 'whole'

const withoutSecrets = (snapshot: NodeSnapshot): NodeSnapshot =>
  new Map([...snapshot].filter(([typeUrl]) => typeUrl !== SECRET_TYPE))

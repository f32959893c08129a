// The ADS service: sends every connected Envoy the snapshot of its gateway, as state of the world or incrementally.

import { fromBinary } from '@bufbuild/protobuf'
import { errorText } from '../../kit/errors.js'
import { type Chunk, namedChunks } from '../../kit/incremental/chunked-list.js'
import { listOf } from '../../kit/incremental/named-map.js'
import { createLogLimit, type LogLimit } from '../../kit/log-limit.js'
import type { Logger } from '../../kit/logger.js'
import type { Node } from '../../wire/grpc/generated/envoy/config/core/v3/base_pb.js'
import { AggregatedDiscoveryService } from '../../wire/grpc/generated/envoy/service/discovery/v3/ads_pb.js'
import {
  type DeltaDiscoveryRequest,
  DeltaDiscoveryRequestSchema,
  type DiscoveryRequest,
  DiscoveryRequestSchema,
} from '../../wire/grpc/generated/envoy/service/discovery/v3/discovery_pb.js'
import type { Peer } from '../../wire/grpc/peer.js'
import type {
  GrpcService,
  StreamCall,
  StreamListener,
  StreamMethod,
} from '../../wire/grpc/service.js'
import { GrpcError, Status } from '../../wire/grpc/status.js'
import type { EncodedResource } from '../encode/encode.js'
import { CLUSTER_TYPE, PUSH_ORDER, SECRET_TYPE, shortType } from '../encode/type-urls.js'
import { AdsStream, type StreamRequest } from './ads-stream.js'
import { createResponseEncoders, type EncodeResponse } from './responses.js'
import { SharedViews } from './shared-views.js'
import type { NodeSnapshot, SnapshotCache, SnapshotForm } from './snapshot-cache.js'
import { Turns } from './turns.js'
import type { Protocol } from './type-stream.js'
import { takesVirtualHosts } from './vhds.js'
import { WAITS, type Waits } from './waits.js'

// Converts discovery requests of either protocol into changes of the subscription to their type.

/** State of the world: the request has the complete list of names. */
const subscribeToWorld = (request: DiscoveryRequest): StreamRequest => ({
  ...common(request),
  version: request.versionInfo,
  subscribe: (type, first) => {
    const added = type.subscription.replace(request.resourceNames)
    type.delivery.forgetUnless((name) => type.subscription.wants(name))
    if (added.length > 0) type.delivery.forget(added)
    if (first || added.length > 0) type.owed = true
  },
})

/** Incremental: the request has the added and removed names, and the first one also has what Envoy already holds. */
const subscribeToChanges = (request: DeltaDiscoveryRequest): StreamRequest => ({
  ...common(request),
  subscribe: (type, first) => {
    const { resourceNamesSubscribe: come, resourceNamesUnsubscribe: go } = request
    type.subscription.change(come, go)
    if (first) type.delivery.alreadyHeld(request.initialResourceVersions)
    else type.delivery.forget(come)
    if (go.length > 0) type.delivery.forgetUnless((name) => type.subscription.wants(name))
    // Still wanted by the wildcard: Envoy has dropped it and must receive it again.
    const again = go.filter((name) => type.subscription.wants(name))
    type.delivery.forget(again)
    if (first) type.ask(type.subscription.names)
    else if (come.length + again.length > 0)
      type.ask(new Set([...come, ...again].filter((name) => name !== '*')))
  },
})

const common = (request: DiscoveryRequest | DeltaDiscoveryRequest) => ({
  typeUrl: request.typeUrl,
  nonce: request.responseNonce,
  ...(request.errorDetail !== undefined && {
    refusal: withoutPattern(request.errorDetail.message),
  }),
})

/** Hides the pattern that Envoy quotes: it may be for the value of a header, and the reason is in the log and the status. */
const withoutPattern = (reason: string): string =>
  reason.replace(/regex '.*'(?=:| RE2 )/gs, "regex '[redacted]'")

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

// Reads the version that an Envoy reports when it connects.

/** Returns the version, MAJOR.MINOR.PATCH, as a field; no field for a client that does not report it. */
function envoyVersionOf({ userAgentVersionType: agent }: Node): {
  readonly envoyVersion?: string
} {
  const version = agent.case === 'userAgentBuildVersion' ? agent.value.version : undefined
  if (version === undefined) return {}
  const { majorNumber, minorNumber, patch } = version
  return { envoyVersion: `${majorNumber}.${minorNumber}.${patch}` }
}

// The two xDS protocols, state of the world and incremental: decodes their requests into the common form.

/** A discovery request of either protocol. */
type AnyRequest = DiscoveryRequest | DeltaDiscoveryRequest

/** A protocol: how its requests are decoded and read. */
interface Dialect<Request> {
  readonly protocol: Protocol
  /** Decodes a request; throws if the bytes are not one. */
  readonly decode: (bytes: Uint8Array) => Request
  readonly read: (request: Request) => StreamRequest
}

/** The state of the world: each response has all resources of its type. */
export const world: Dialect<DiscoveryRequest> = {
  protocol: 'state-of-the-world',
  decode: (bytes) => fromBinary(DiscoveryRequestSchema, bytes),
  read: subscribeToWorld,
}

/** The incremental protocol: each response has what has changed. */
export const incremental: Dialect<DeltaDiscoveryRequest> = {
  protocol: 'incremental',
  decode: (bytes) => fromBinary(DeltaDiscoveryRequestSchema, bytes),
  read: subscribeToChanges,
}

// Flow control of a stream, in turns with the others: one response after the other, as fast as Envoy reads.

/** The responses that a stream has yet to write. */
class Outgoing {
  readonly #call: StreamCall
  readonly #turns: Turns
  #sent: (() => void) | undefined

  constructor(call: StreamCall, turns: Turns) {
    this.#call = call
    this.#turns = turns
  }

  /** Sends a response; calls sent later, when there is room for more. */
  send(response: readonly Buffer[], sent: () => void): void {
    if (this.#call.sendParts(response)) setImmediate(() => this.#turns.run(sent))
    else this.#sent = sent
  }

  drained(): void {
    const sent = this.#sent
    this.#sent = undefined
    if (sent !== undefined) this.#turns.run(sent)
  }
}

/** Processes one message at a time; pauses the call while a message waits for its turn. */
function takeInTurn(call: StreamCall, turns: Turns, take: () => void): void {
  let isPaused = false
  const isDone = turns.run(() => {
    take()
    if (isPaused) call.resume()
  })
  if (isDone) return
  isPaused = true
  call.pause()
}

// Computes versions and response bytes of a new snapshot in turns, before the first Envoy requests them.

/** Number of resources that make a job. */
const MOST = 64

/** Prepares the responses of new snapshots. */
export class Preparation {
  readonly #turns: Turns
  readonly #views: SharedViews
  readonly #encode: (chunk: Chunk<EncodedResource>) => void
  #known = new WeakSet<Chunk<EncodedResource>>()

  constructor(turns: Turns, views: SharedViews, encode: (chunk: Chunk<EncodedResource>) => void) {
    this.#turns = turns
    this.#views = views
    this.#encode = encode
  }

  /** Prepares what is new in the snapshot: little, if one of thousands of resources changed. */
  begin(snapshot: NodeSnapshot): void {
    const chunks = [...snapshot.values()]
      .flatMap((resources) => namedChunks(listOf(resources)))
      .filter((chunk) => !this.#known.has(chunk))
    let some: Chunk<EncodedResource>[] = []
    let count = 0
    for (const chunk of chunks) {
      this.#known.add(chunk)
      some.push(chunk)
      count += chunk.length
      if (count < MOST) continue
      this.#prepare(some, count)
      some = []
      count = 0
    }
    if (count > 0) this.#prepare(some, count)
  }

  #prepare(chunks: readonly Chunk<EncodedResource>[], count: number): void {
    this.#turns.run(() => {
      this.#turns.spend(count)
      for (const chunk of chunks) {
        this.#views.versionSum(chunk)
        this.#encode(chunk)
      }
    })
  }
}

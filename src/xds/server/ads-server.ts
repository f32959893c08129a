// The ADS service: every connected Envoy gets its gateway's snapshot, state of the world or incremental.

import { status } from '@grpc/grpc-js'
import type { ServerDuplexStream } from '@grpc/grpc-js'
import { discoveryService, DISCOVERY } from '../../grpc/protos.js'
import type { Peer } from '../../grpc/peer.js'
import type { GrpcService } from '../../grpc/server.js'
import { createLogLimit, type LogLimit } from '../../log-limit.js'
import type { Logger } from '../../logger.js'
import { AdsStream } from './ads-stream.js'
import { incremental, world, type AnyRequest, type Dialect } from './protocols.js'
import type { StreamRequest } from './ads-stream.js'
import type { Form, NodeSnapshot, SnapshotCache } from './snapshot-cache.js'
import type { Protocol } from './type-stream.js'
import { PUSH_ORDER, SECRET_TYPE, shortType } from '../encode/type-urls.js'
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
  mayReceiveSecrets(call: Peer): boolean
  /** How long changes wait for the answer to what they build on; default 3,000. */
  readonly patienceMs?: number
}

export interface AdsService extends GrpcService {
  /** Every connected Envoy works with the current listeners and routes. */
  settled(): boolean
  /** Ends every stream. */
  close(): void
}

type Call<Request, Response> = ServerDuplexStream<Request, Response> & Peer

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

export const createAdsService = (options: AdsOptions): AdsService => {
  const open = new Set<Open>()
  let streams = 0
  const serve =
    <Request extends AnyRequest, Response>(dialect: Dialect<Request, Response>) =>
    (call: Call<Request, Response>): void => {
      streams += 1
      serveStream({ call, dialect, options, open, number: streams })
    }
  options.cache.subscribe(() => {
    for (const { stream } of [...open]) stream.push()
  })
  const close = (): void => {
    for (const { end } of [...open]) end()
  }
  return {
    name: DISCOVERY,
    definition: discoveryService,
    implementation: {
      streamAggregatedResources: serve(world),
      deltaAggregatedResources: serve(incremental),
    },
    drain: close,
    settled: () => [...open].every(({ stream }) => stream.isCurrent()),
    close,
  }
}

interface Serving<Request, Response> {
  readonly call: Call<Request, Response>
  readonly dialect: Dialect<Request, Response>
  readonly options: AdsOptions
  readonly open: Set<Open>
  readonly number: number
}

const serveStream = <Request extends AnyRequest, Response>(
  serving: Serving<Request, Response>,
): void => {
  const { call, dialect, options, open } = serving
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
        return end(call, status.INVALID_ARGUMENT, 'the first request of a stream must carry node')
      }
      const limit = createLogLimit(() => performance.now())
      const stream = createStream(serving, { peer, limit, form: formOf(request, dialect.protocol) })
      entry = { peer, stream, limit, end: () => (leave(), void call.end()) }
      open.add(entry)
      options.logger.info({ ...peer, protocol: dialect.protocol }, 'Envoy connected')
    }
    handle(entry, dialect.read(request), options)
  }
  call.on('data', (request: Request) => {
    try {
      receive(request)
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      options.logger.error({ ...entry?.peer, reason }, 'ADS stream failed')
      end(call, status.INTERNAL, 'internal error')
    }
  })
  call.on('end', () => {
    leave()
    call.end()
  })
  call.on('cancelled', leave)
  call.on('error', leave)
}

/** What the first request of a stream says. */
interface Begun {
  readonly peer: AdsPeer
  readonly form: Form
  readonly limit: LogLimit
}

const createStream = <Request, Response>(
  { call, dialect, options }: Serving<Request, Response>,
  { peer, limit, form }: Begun,
): AdsStream => {
  const secrets = options.mayReceiveSecrets(call)
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
    write: (push, sent) => {
      call.write(dialect.write(push), sent)
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

const handle = (
  { stream, peer, limit }: Open,
  request: StreamRequest,
  { logger }: AdsOptions,
): void => {
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

const formOf = ({ node }: AnyRequest, protocol: Protocol): Form =>
  protocol === 'incremental' && takesVirtualHosts(node) ? 'split' : 'whole'

const end = <Request, Response>(
  call: Call<Request, Response>,
  code: status,
  details: string,
): void => {
  call.emit('error', { code, details })
}

const withoutSecrets = (snapshot: NodeSnapshot): NodeSnapshot =>
  new Map([...snapshot].filter(([typeUrl]) => typeUrl !== SECRET_TYPE))

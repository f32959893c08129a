// Messages between the main process and its workers: structured clones over the IPC channel of each worker, received in
// the order sent. Tables sent before a socket are in force before it is served.

import type { AuthzEntry } from '../../model/authz-entry.js'
import type { ProcEntry } from '../../model/proc-entry.js'
import type { MetricsJson } from '../../ops/admin/merged-metrics.js'
import type { RecentDecision } from '../../ops/admin/recent-decisions.js'
import type { Settings } from '../../ops/settings/settings.js'
import type { Peer } from '../../wire/grpc/peer.js'
import type { Status } from '../../wire/grpc/status.js'

/** A listener, and how its connections are served. */
export interface HandedListener {
  readonly type: 'unix' | 'tcp'
  /** Paths of PEM files; absent: plaintext. */
  readonly tls?: {
    readonly cert: string
    readonly key: string
    readonly clientCa?: string
    /** Whether clients without a certificate may connect: their calls have tokens. */
    readonly acceptsTokens?: boolean
  }
}

/** A service of the main process, whose streams workers forward. */
export interface RelayedDescription {
  readonly name: string
  readonly methods: readonly string[]
}

/** Changes of a table: keys of removed or replaced entries, then added or replacing entries. */
export interface ListChange<Entry> {
  readonly removed: readonly string[]
  readonly added: readonly Entry[]
}

/** Changes of both tables. */
export interface TableChanges {
  readonly authz: ListChange<AuthzEntry>
  readonly proc: ListChange<ProcEntry>
}

/** What a worker is started with. */
export interface WorkerStart {
  /** Worker number, from 1: a field of its log lines, and its place among the shared counters. */
  readonly worker: number
  readonly workers: number
  /** environment: a plain object. */
  readonly settings: Settings
  readonly listeners: readonly HandedListener[]
  readonly relayed: readonly RelayedDescription[]
  /** Maximum bytes of guarded bodies that all workers together may hold. */
  readonly heldBytes: number
}

/** Outcome of a requested fetch of a key set, and the number of successful fetches. */
export interface RefetchedKeySet {
  readonly isAnswered: boolean
  readonly isOlder: boolean
  readonly answers: number
}

/** What the tokens of a call's client have shown. */
export interface Admission {
  /** The only Gateway that the client serves; absent: one with other rights. */
  readonly gateway?: string | undefined
  /** Present: the call is not served. */
  readonly refusal?: { readonly status: Status; readonly details: string }
}

/** A question that only the main process can answer. call: a unique number chosen by the worker. */
export type QuestionToMain =
  | { readonly type: 'refetch'; readonly call: number; readonly id: string }
  /** tokens: all values of the header for the token of an Envoy. */
  | {
      readonly type: 'admit'
      readonly call: number
      readonly peer: Peer
      readonly tokens: readonly string[]
    }

/** stream: a unique number chosen by the worker. */
export type StreamToWorker =
  | { readonly type: 'stream-send'; readonly stream: number; readonly message: Uint8Array }
  | {
      readonly type: 'stream-end'
      readonly stream: number
      readonly status: Status
      readonly details: string
    }
  | { readonly type: 'stream-pause'; readonly stream: number; readonly paused: boolean }

/** Messages about the connections to a webhook, limited for all workers. key: names the webhook and its limits. */
export type PermitsToMain =
  /** The number of calls that wait for a permit. max: the limit for all workers. */
  | {
      readonly type: 'permits-wanted'
      readonly key: string
      readonly max: number
      readonly waiting: number
    }
  | { readonly type: 'permits-returned'; readonly key: string; readonly count: number }

/** A message about permits, to a worker. */
export type PermitsToWorker =
  | { readonly type: 'permits-granted'; readonly key: string; readonly count: number }
  /** Requests permits back as soon as no call needs them, because other workers wait. */
  | { readonly type: 'permits-recalled'; readonly key: string; readonly count: number }

/** A message about a forwarded stream, to the main process. */
export type StreamToMain =
  | {
      readonly type: 'stream-open'
      readonly stream: number
      readonly service: string
      readonly method: string
      readonly peer: Peer
      readonly deadline: number
      /** All values of the header for the token of an Envoy. */
      readonly tokens: readonly string[]
    }
  | { readonly type: 'stream-message'; readonly stream: number; readonly message: Uint8Array }
  | { readonly type: 'stream-done'; readonly stream: number; readonly how: 'end' | 'cancel' }
  /** The client has taken this many of the sent bytes. */
  | { readonly type: 'stream-taken'; readonly stream: number; readonly bytes: number }

/** A message to a worker. */
export type ToWorker =
  | { readonly type: 'start'; readonly start: WorkerStart }
  /** One part of the changes of both tables; they take effect together, after the last part. */
  | {
      readonly type: 'tables'
      readonly sequence: number
      readonly changes: TableChanges
      readonly isLast: boolean
    }
  /**
   * Drops keys removed at that time or before it, in milliseconds since the epoch, and the metrics of routes of which no
   * key is left.
   */
  | { readonly type: 'forget'; readonly vanishedBy: number; readonly routes: readonly string[] }
  | { readonly type: 'own-addresses'; readonly addresses: readonly string[] }
  /** The secret for probes of a mesh's routes. */
  | { readonly type: 'probe-secret'; readonly secret: Uint8Array }
  /** Sent with a socket. listener: its index in WorkerStart.listeners. */
  | { readonly type: 'socket'; readonly listener: number }
  | { readonly type: 'serving'; readonly serving: boolean }
  | { readonly type: 'drain'; readonly timeoutMs: number }
  | { readonly type: 'ping' }
  /** Requests a part of the metrics; part 0 reads them. */
  | { readonly type: 'metrics'; readonly call: number; readonly part: number }
  /** Requests the latest lines of the decision log. */
  | { readonly type: 'decisions'; readonly call: number }
  | { readonly type: 'refetched'; readonly call: number; readonly keySet: RefetchedKeySet }
  | { readonly type: 'admission'; readonly call: number; readonly admission: Admission }
  | { readonly type: 'key-set-answers'; readonly id: string; readonly answers: number }
  | PermitsToWorker
  | StreamToWorker

/** A message from a worker. */
export type FromWorker =
  /** The worker is ready for sockets. */
  | { readonly type: 'ready' }
  /** The worker cannot serve; message: a sentence for a person. */
  | { readonly type: 'failed'; readonly message: string }
  /** The tables of that sequence are in force. */
  | { readonly type: 'taken'; readonly sequence: number }
  /** A connection passed to the worker has ended. */
  | { readonly type: 'closed'; readonly listener: number }
  | { readonly type: 'pong' }
  /** The requested part of the metrics. */
  | {
      readonly type: 'metrics'
      readonly call: number
      readonly part: number
      readonly metrics: MetricsJson
      readonly isLast: boolean
    }
  | {
      readonly type: 'decisions'
      readonly call: number
      readonly lines: readonly RecentDecision[]
    }
  | QuestionToMain
  | PermitsToMain
  | StreamToMain

/** Milliseconds between two questions whether a worker is alive. */
export const PING_MS = 2_000

/** Whether a message is about permits. */
export const isOfPermits = (message: FromWorker): message is PermitsToMain =>
  message.type.startsWith('permits-')

/** Whether a message is about a forwarded stream. */
export const isOfStream = (message: FromWorker): message is StreamToMain =>
  message.type.startsWith('stream-')

// What the main process and its workers tell each other: structured clones over the IPC channel of each worker, read in the
// order in which they were sent. Tables that were sent before a socket are in force before it is served.

import type { Peer } from '../grpc/peer.js'
import type { Status } from '../grpc/status.js'
import type { AuthzEntry } from '../ir/authz-entry.js'
import type { ProcEntry } from '../ir/proc-entry.js'
import type { Settings } from '../settings.js'

/** A socket that is listened on, as its connections are served. */
export interface HandedListener {
  readonly type: 'unix' | 'tcp'
  /** Files of PEM; absent: plaintext. */
  readonly tls?: { readonly cert: string; readonly key: string; readonly clientCa?: string }
}

/** A service of the main process, whose streams workers pass on. */
export interface RelayedDescription {
  readonly name: string
  readonly methods: readonly string[]
}

/** Entries by their keys: those that are gone or are others now, then those that are new or are others now. */
export interface ListChange<Entry> {
  readonly removed: readonly string[]
  readonly added: readonly Entry[]
}

export interface WorkerStart {
  /** 1 to the number of workers: the field of its log lines, and its place among the shared counters. */
  readonly worker: number
  readonly workers: number
  /** environment: a plain object. */
  readonly settings: Settings
  readonly listeners: readonly HandedListener[]
  readonly relayed: readonly RelayedDescription[]
  /** Of guarded bodies, of all workers together. */
  readonly heldBytes: number
}

/** What a fetch of a key set came to, and how many answers there have been. */
export interface RefetchedKeySet {
  readonly isAnswered: boolean
  readonly isOlder: boolean
  readonly answers: number
}

/** stream: chosen by the worker, never twice. */
export type StreamToWorker =
  | { readonly type: 'stream-send'; readonly stream: number; readonly message: Uint8Array }
  | {
      readonly type: 'stream-end'
      readonly stream: number
      readonly status: Status
      readonly details: string
    }
  | { readonly type: 'stream-pause'; readonly stream: number; readonly paused: boolean }

/** Connections to a webhook, of which all workers together may have so many; key: of the webhook and its limits. */
export type PermitsToMain =
  /** So many calls wait for one; max: of all workers. */
  | {
      readonly type: 'permits-wanted'
      readonly key: string
      readonly max: number
      readonly waiting: number
    }
  | { readonly type: 'permits-returned'; readonly key: string; readonly count: number }

export type PermitsToWorker =
  | { readonly type: 'permits-granted'; readonly key: string; readonly count: number }
  /** As soon as no call needs them: others wait. */
  | { readonly type: 'permits-recalled'; readonly key: string; readonly count: number }

export type StreamToMain =
  | {
      readonly type: 'stream-open'
      readonly stream: number
      readonly service: string
      readonly method: string
      readonly peer: Peer
      readonly deadline: number
    }
  | { readonly type: 'stream-message'; readonly stream: number; readonly message: Uint8Array }
  | { readonly type: 'stream-done'; readonly stream: number; readonly how: 'end' | 'cancel' }
  /** So many bytes of what was sent have been taken by the client. */
  | { readonly type: 'stream-taken'; readonly stream: number; readonly bytes: number }

export type ToWorker =
  | { readonly type: 'start'; readonly start: WorkerStart }
  | {
      readonly type: 'tables'
      readonly sequence: number
      readonly authz: ListChange<AuthzEntry>
      readonly proc: ListChange<ProcEntry>
    }
  /** Keys that vanished at that time or before it, in milliseconds since the epoch. */
  | { readonly type: 'forget'; readonly vanishedBy: number }
  | { readonly type: 'own-addresses'; readonly addresses: readonly string[] }
  /** With the socket; listener: its place in WorkerStart.listeners. */
  | { readonly type: 'socket'; readonly listener: number }
  | { readonly type: 'serving'; readonly serving: boolean }
  | { readonly type: 'drain'; readonly timeoutMs: number }
  | { readonly type: 'ping' }
  | { readonly type: 'metrics'; readonly call: number }
  | { readonly type: 'refetched'; readonly call: number; readonly keySet: RefetchedKeySet }
  | { readonly type: 'key-set-answers'; readonly id: string; readonly answers: number }
  | PermitsToWorker
  | StreamToWorker

export type FromWorker =
  /** Its servers wait for sockets. */
  | { readonly type: 'ready' }
  /** It cannot serve: a sentence for a person. */
  | { readonly type: 'failed'; readonly message: string }
  /** The tables of that sequence are in force. */
  | { readonly type: 'taken'; readonly sequence: number }
  /** A connection that it was handed has ended. */
  | { readonly type: 'closed'; readonly listener: number }
  | { readonly type: 'pong' }
  | { readonly type: 'metrics'; readonly call: number; readonly metrics: readonly object[] }
  | { readonly type: 'refetch'; readonly call: number; readonly id: string }
  | PermitsToMain
  | StreamToMain

export const PING_MS = 2_000

// Limits the memory of messages that have not arrived whole, and of headers: those of one connection, and all together.

import { GrpcError, Status } from './status.js'

/** The part of one connection in a budget. */
export interface MessageAccount {
  /** Adds bytes; a negative number gives them back. false: they would exceed the budget; nothing is added. */
  add(bytes: number): boolean
}

/** A budget that all connections share. */
export interface MessageBudget {
  open(): MessageAccount
  /** The most that one connection may hold, in bytes. Absent: 256 MiB. */
  readonly mostOfOne?: number
}

/** Maximum buffered bytes per connection: thousands of messages of 64 KiB, in buffers of up to twice their size. */
const MAX_CONNECTION_BYTES = 256 * 1024 * 1024

/** A budget without a limit, so that only the limit of each connection counts. */
export const UNSHARED: MessageBudget = { open: () => ({ add: () => true }) }

/** A message has no room among all that have not arrived whole. */
export class TooManyUnfinished extends GrpcError {
  /** For logs. */
  readonly reason = 'too-many-unfinished-messages'

  constructor() {
    super(Status.RESOURCE_EXHAUSTED, 'too many messages at once')
  }
}

/** Memory held by the unfinished messages of one connection, and by its headers. */
export class HeldMessages {
  readonly #account: MessageAccount
  readonly #most: number
  #bytes = 0

  constructor(budget: MessageBudget) {
    this.#account = budget.open()
    this.#most = Math.min(MAX_CONNECTION_BYTES, budget.mostOfOne ?? Infinity)
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Adds bytes; a negative number gives them back. false: too much is held already; nothing is added. */
  add(bytes: number): boolean {
    if (bytes > 0 && this.#bytes + bytes > this.#most) return false
    if (!this.#account.add(bytes)) return false
    this.#bytes += bytes
    return true
  }
}

// Leader election for status writes by a Lease (coordination.k8s.io/v1): every replica serves, and the holder writes.
// Written by hand, as the library has no leader election.

import { errorText } from '../../../kit/errors.js'
import type { JsonObject } from '../../../model/json.js'
import { type KubernetesClient, KubernetesError } from './client.js'
import {
  createLeaseExpiry,
  LEASE_SECONDS,
  leasesPath,
  leaseSpec,
  LOOK_EVERY,
  microTime,
  RENEW_EVERY,
  SURE_FOR,
} from './lease-object.js'

/** What a candidate is started with. */
export interface LeaseOptions {
  readonly client: KubernetesClient
  readonly namespace: string
  readonly name: string
  /** Identifies this process among the replicas. */
  readonly identity: string
  /** Called when the Lease was won or lost. */
  onChange(held: boolean): void
  /** Logs a sentence. */
  onWarning(message: string): void
}

/** A candidate for the Lease. */
export interface Lease {
  /** Releases the Lease, so the next holder need not wait. */
  close(): Promise<void>
}

/** Starts a candidate. */
export function startLease(options: LeaseOptions): Lease {
  const candidate = new Candidate(options)
  candidate.start()
  return candidate
}

class Candidate implements Lease {
  readonly #options: LeaseOptions
  readonly #path: string
  readonly #own: string
  #heldSince = -Infinity
  #isHeld = false
  readonly #isExpired = createLeaseExpiry()
  #warned = ''
  #closed = false
  #timer: NodeJS.Timeout | undefined
  #doubt: NodeJS.Timeout | undefined
  #running: Promise<void> = Promise.resolve()

  constructor(options: LeaseOptions) {
    this.#options = options
    this.#path = leasesPath(options.namespace)
    this.#own = `${this.#path}/${encodeURIComponent(options.name)}`
  }

  start(): void {
    this.#running = this.#round()
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    await this.#running
    clearTimeout(this.#doubt)
    if (this.#isHeld) await release(this.#options, this.#own)
  }

  async #round(): Promise<void> {
    try {
      this.#settle(await this.#take())
      this.#warned = ''
    } catch (error) {
      this.#failed(error)
    }
    if (!this.#closed)
      this.#timer = setTimeout(() => this.start(), this.#isHeld ? RENEW_EVERY : LOOK_EVERY)
  }

  #failed(error: unknown): void {
    // Another replica was faster, which is no failure.
    const isRace = error instanceof KubernetesError && error.status === 409
    const message = errorText(error)
    if (!isRace && message !== this.#warned)
      this.#options.onWarning(`the Lease cannot be acquired: ${message}`)
    if (!isRace) this.#warned = message
    this.#settle(this.#isHeld && !isRace && performance.now() - this.#heldSince < SURE_FOR)
  }

  #settle(held: boolean): void {
    if (held !== this.#isHeld && !this.#closed) this.#options.onChange(held)
    this.#isHeld = held
  }

  async #take(): Promise<boolean> {
    const { client, identity } = this.#options
    const began = performance.now()
    const lease = await readLease(client, this.#own)
    if (lease === undefined)
      await client.call('POST', this.#path, newLease(this.#options, undefined))
    else {
      const holder = leaseSpec(lease)['holderIdentity']
      const isFree = holder === identity || holder === '' || holder === undefined
      if (!isFree && !this.#isExpired(lease)) return false
      await client.call('PUT', this.#own, newLease(this.#options, lease))
    }
    this.#heldSince = began
    // A call that hangs or a suspended process must not keep writing next to the next holder.
    clearTimeout(this.#doubt)
    if (!this.#closed) {
      const sureFor = SURE_FOR - (performance.now() - began)
      this.#doubt = setTimeout(() => this.#settle(false), sureFor)
    }
    return true
  }
}

async function readLease(client: KubernetesClient, path: string): Promise<JsonObject | undefined> {
  try {
    return await client.call('GET', path)
  } catch (error) {
    if (error instanceof KubernetesError && error.status === 404) return undefined
    throw error
  }
}

function newLease(
  { name, namespace, identity }: LeaseOptions,
  before: JsonObject | undefined,
): JsonObject {
  const now = microTime()
  const { holderIdentity, acquireTime, leaseTransitions } = leaseSpec(before)
  const isOurs = holderIdentity === identity
  const transitions = typeof leaseTransitions === 'number' ? leaseTransitions : 0
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: before?.['metadata'] ?? { name, namespace },
    spec: {
      holderIdentity: identity,
      leaseDurationSeconds: LEASE_SECONDS,
      acquireTime: isOurs && typeof acquireTime === 'string' ? acquireTime : now,
      renewTime: now,
      leaseTransitions: isOurs || before === undefined ? transitions : transitions + 1,
    },
  }
}

async function release({ client, identity }: LeaseOptions, path: string): Promise<void> {
  try {
    const lease = await client.call('GET', path)
    const spec = leaseSpec(lease)
    if (spec['holderIdentity'] !== identity) return
    await client.call('PUT', path, {
      ...lease,
      spec: { ...spec, holderIdentity: '', leaseDurationSeconds: 1, renewTime: microTime() },
    })
  } catch {
    // The Lease expires by itself.
  }
}

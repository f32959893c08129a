// Who writes status: the replica that holds a Lease (coordination.k8s.io/v1), renewed while it lives. Every replica serves;
// one writes.

import { isJsonObject, type JsonObject } from '../../ir/json.js'
import { KubernetesError, type KubernetesClient } from './client.js'

export interface LeaseOptions {
  readonly client: KubernetesClient
  readonly namespace: string
  readonly name: string
  /** Of this process, among its peers. */
  readonly identity: string
  /** Called when it was won or lost. */
  onChange(held: boolean): void
  /** A sentence for the log. */
  onWarning(message: string): void
}

export interface Lease {
  /** Gives it up, so that the next one need not wait. */
  close(): Promise<void>
}

const DURATION_SECONDS = 15
/** Milliseconds. */
const RENEW_EVERY = 5_000
const LOOK_EVERY = 2_000
/** Nobody else can have it before the duration is over; we stop earlier than that. */
const SURE_FOR = 10_000

export function startLease(options: LeaseOptions): Lease {
  const path = `/apis/coordination.k8s.io/v1/namespaces/${encodeURIComponent(options.namespace)}/leases`
  const own = `${path}/${encodeURIComponent(options.name)}`
  let heldSince = -Infinity
  let isHeld = false
  let seen = { version: '', at: -Infinity }
  let warned = ''
  let closed = false
  let timer: NodeJS.Timeout | undefined
  let doubt: NodeJS.Timeout | undefined

  const settle = (held: boolean): void => {
    if (held !== isHeld && !closed) options.onChange(held)
    isHeld = held
  }
  /** By our own clock alone: a holder that has not renewed it for its whole duration is gone. */
  const isExpired = (lease: JsonObject): boolean => {
    const version = versionOf(lease)
    if (version !== seen.version) seen = { version, at: performance.now() }
    const { leaseDurationSeconds } = specOf(lease)
    const seconds = typeof leaseDurationSeconds === 'number' ? leaseDurationSeconds : 0
    return performance.now() - seen.at > seconds * 1000
  }
  const take = async (): Promise<boolean> => {
    const began = performance.now()
    const lease = await readLease(options.client, own)
    if (lease === undefined) await options.client.call('POST', path, newLease(options, undefined))
    else {
      const holder = specOf(lease)['holderIdentity']
      const isFree = holder === options.identity || holder === '' || holder === undefined
      if (!isFree && !isExpired(lease)) return false
      await options.client.call('PUT', own, newLease(options, lease))
    }
    heldSince = began
    // A call that hangs, or a process that was stopped, must not leave us writing beside the next holder.
    clearTimeout(doubt)
    if (!closed) doubt = setTimeout(() => settle(false), SURE_FOR - (performance.now() - began))
    return true
  }
  const round = async (): Promise<void> => {
    try {
      settle(await take())
      warned = ''
    } catch (error) {
      // Another one was faster: no trouble.
      const isRace = error instanceof KubernetesError && error.status === 409
      const message = error instanceof Error ? error.message : String(error)
      if (!isRace && message !== warned) options.onWarning(`the Lease cannot be had: ${message}`)
      if (!isRace) warned = message
      settle(isHeld && !isRace && performance.now() - heldSince < SURE_FOR)
    }
    if (!closed) timer = setTimeout(next, isHeld ? RENEW_EVERY : LOOK_EVERY)
  }
  const next = (): void => {
    running = round()
  }
  let running = round()
  return {
    close: async () => {
      closed = true
      clearTimeout(timer)
      await running
      clearTimeout(doubt)
      if (isHeld) await release(options, own)
    },
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
  const { holderIdentity, acquireTime, leaseTransitions } = specOf(before)
  const isOurs = holderIdentity === identity
  const transitions = typeof leaseTransitions === 'number' ? leaseTransitions : 0
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: before?.['metadata'] ?? { name, namespace },
    spec: {
      holderIdentity: identity,
      leaseDurationSeconds: DURATION_SECONDS,
      acquireTime: isOurs && typeof acquireTime === 'string' ? acquireTime : now,
      renewTime: now,
      leaseTransitions: isOurs || before === undefined ? transitions : transitions + 1,
    },
  }
}

async function release({ client, identity }: LeaseOptions, path: string): Promise<void> {
  try {
    const lease = await client.call('GET', path)
    const spec = specOf(lease)
    if (spec['holderIdentity'] !== identity) return
    await client.call('PUT', path, {
      ...lease,
      spec: { ...spec, holderIdentity: '', leaseDurationSeconds: 1, renewTime: microTime() },
    })
  } catch {
    // It ends by itself.
  }
}

const specOf = (lease: JsonObject | undefined): JsonObject =>
  isJsonObject(lease?.['spec']) ? lease['spec'] : {}

const versionOf = ({ metadata }: JsonObject): string => {
  const version = isJsonObject(metadata) ? metadata['resourceVersion'] : undefined
  return typeof version === 'string' ? version : ''
}

/** MicroTime (meta/v1). */
const microTime = (): string => new Date().toISOString().replace(/Z$/, '000Z')

// In the main process: divides the connections to a webhook among the workers. Free permits are granted in turns to
// waiting workers; if none are free, permits are recalled from the worker with the most.

import type { PermitsToMain, PermitsToWorker } from './messages.js'

interface Share {
  held: number
  /** Permits recalled and still held. */
  recalled: number
  waiting: number
  /** When it was last granted a permit, as a count of all grants. */
  served: number
}

interface Webhook {
  readonly max: number
  /** Shares by worker number. */
  readonly shares: Map<number, Share>
}

/** The permits of all webhooks. */
export class Permits {
  readonly #webhooks = new Map<string, Webhook>()
  #served = 0
  readonly #post: (worker: number, message: PermitsToWorker) => void

  constructor(post: (worker: number, message: PermitsToWorker) => void) {
    this.#post = post
  }

  receive(worker: number, message: PermitsToMain): void {
    const webhook =
      message.type === 'permits-wanted'
        ? this.#webhookOf(message.key, message.max)
        : this.#webhooks.get(message.key)
    if (webhook === undefined) return
    const share = shareOf(webhook, worker)
    if (message.type === 'permits-wanted') share.waiting = message.waiting
    else {
      share.held -= message.count
      share.recalled = Math.max(0, share.recalled - message.count)
    }
    this.#settle(message.key, webhook)
  }

  /** Frees the permits of a worker that has ended. */
  forget(worker: number): void {
    for (const [key, webhook] of this.#webhooks) {
      webhook.shares.delete(worker)
      this.#settle(key, webhook)
    }
  }

  #webhookOf(key: string, max: number): Webhook {
    const known = this.#webhooks.get(key)
    if (known !== undefined) return known
    const webhook: Webhook = { max, shares: new Map() }
    this.#webhooks.set(key, webhook)
    return webhook
  }

  #settle(key: string, webhook: Webhook): void {
    this.#grant(key, webhook)
    this.#recall(key, webhook)
    if ([...webhook.shares.values()].every(({ held, waiting }) => held === 0 && waiting === 0))
      this.#webhooks.delete(key)
  }

  #grant(key: string, { max, shares }: Webhook): void {
    const granted = new Map<number, number>()
    let free = max - sum(shares, ({ held }) => held)
    for (; free > 0; free -= 1) {
      const poorest = least(shares)
      if (poorest === undefined) break
      const [worker, share] = poorest
      share.held += 1
      share.waiting -= 1
      share.served = this.#served += 1
      granted.set(worker, (granted.get(worker) ?? 0) + 1)
    }
    for (const [worker, count] of granted)
      this.#post(worker, { type: 'permits-granted', key, count })
  }

  #recall(key: string, { shares }: Webhook): void {
    const recalled = new Map<number, number>()
    let missing = sum(shares, ({ waiting }) => waiting) - sum(shares, (share) => share.recalled)
    const poorest = least(shares)
    if (poorest === undefined) return
    for (; missing > 0; missing -= 1) {
      const richest = most(shares, poorest)
      if (richest === undefined) break
      const [worker, share] = richest
      share.recalled += 1
      recalled.set(worker, (recalled.get(worker) ?? 0) + 1)
    }
    for (const [worker, count] of recalled)
      this.#post(worker, { type: 'permits-recalled', key, count })
  }
}

function shareOf({ shares }: Webhook, worker: number): Share {
  const known = shares.get(worker)
  if (known !== undefined) return known
  const share: Share = { held: 0, recalled: 0, waiting: 0, served: 0 }
  shares.set(worker, share)
  return share
}

const sum = (shares: Webhook['shares'], count: (share: Share) => number): number =>
  [...shares.values()].reduce((all, share) => all + count(share), 0)

const kept = ({ held, recalled }: Share): number => held - recalled

/** Returns the waiting worker with the fewest permits; among equals, the one whose last grant is the oldest. */
function least(shares: Webhook['shares']): readonly [number, Share] | undefined {
  return [...shares]
    .filter(([, { waiting }]) => waiting > 0)
    .sort(([, one], [, other]) => kept(one) - kept(other) || one.served - other.served)[0]
}

/**
 * Returns the other worker with the most permits that can spare one: no calls wait there, it has at least two more than
 * the poorest, or the poorest holds none. A single permit thus changes hands when its call has ended.
 */
function most(
  shares: Webhook['shares'],
  [poor, { held }]: readonly [number, Share],
): readonly [number, Share] | undefined {
  const canSpare = (share: Share): boolean =>
    kept(share) > 0 && (share.waiting === 0 || held === 0 || kept(share) > held + 1)
  return [...shares]
    .filter(([worker, share]) => worker !== poor && canSpare(share))
    .sort(([, one], [, other]) => kept(other) - kept(one))[0]
}

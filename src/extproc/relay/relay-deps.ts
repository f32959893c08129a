// Builds what the relays of one process share: limits, and the cache of metadata documents.

import { randomBytes } from 'node:crypto'
import type { Relay } from '../../ir/relay.js'
import { createVault, type Vault } from '../../oauth/relay/vault.js'
import type { CallRemote } from '../../remote/http-call.js'
import { err } from '../../result.js'
import { createRates, type RateLimits } from '../stream/rates.js'
import { createSlots, type Slots } from '../stream/slots.js'
import type { SharedLimits } from '../stream/tally.js'
import { createRelayBounds } from './bounds.js'
import { createClientDocuments } from './client-documents.js'
import type { RelayDeps } from './relay-replies.js'

/** A client requests a token at its login, and a few times an hour after that. */
const TOKEN_RATE = { perSecond: 50, burst: 200 }
/** A document is fetched again at most every ten seconds for one URL. */
const DOCUMENT_RATE = { perSecond: 2, burst: 20 }
const MAX_DOCUMENTS = 4

/** What the relays of a process are created with. */
export interface RelayDepsInput {
  readonly callRemote: CallRemote
  readonly callPublic?: CallRemote | undefined
  /** Limits concurrent calls to each provider. */
  readonly slots: Slots
  /** Limits shared with other processes. Absent: only this process calls providers. */
  readonly shared?: SharedLimits | undefined
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** Called for each call that is not made because a provider has too many. */
  readonly onFull?: (() => void) | undefined
}

const callNobody: CallRemote = () => Promise.resolve(err({ type: 'invalid-url' }))

const partOf = (limits: RateLimits, part: number): RateLimits => ({
  ...limits,
  perSecond: limits.perSecond * part,
  burst: Math.max(1, Math.floor(limits.burst * part)),
})

/** Creates what the relays of a process share. */
export function createRelayDeps({
  callRemote,
  callPublic = callNobody,
  slots,
  shared,
  now,
  onFull,
}: RelayDepsInput): RelayDeps {
  const part = shared?.part ?? 1
  const vaults = new WeakMap<Relay, Vault>()
  const random = (size: number): Uint8Array => randomBytes(size)
  return {
    callRemote,
    slots,
    rates: createRates(partOf(TOKEN_RATE, part), now, onFull),
    bounds: createRelayBounds((limits) => partOf(limits, part), now),
    documents: createClientDocuments({
      callPublic,
      slots: createSlots(MAX_DOCUMENTS, shared?.tallyOf, onFull),
      rates: createRates(partOf(DOCUMENT_RATE, part), now, onFull),
      now,
    }),
    now,
    random,
    vaultOf: (relay) => {
      const vault = vaults.get(relay) ?? createVault(relay, { random })
      vaults.set(relay, vault)
      return vault
    },
  }
}

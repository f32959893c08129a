// Builds what the relays of one process share: limits, and the cache of metadata documents.

import { randomBytes } from 'node:crypto'
import { createVault, type Vault } from '../../../extauthz/oauth/vault.js'
import { createRates, type RateLimits, type Rates } from '../../../extproc/session/rates.js'
import { createSlots, type Slots } from '../../../extproc/session/slots.js'
import type { SharedLimits } from '../../../extproc/session/tally.js'
import type { CallRemote, RemoteAnswer } from '../../../kit/http/http-call.js'
import { forbidsStale, freshnessOf } from '../../../kit/http/refresh-times.js'
import { err, type Result } from '../../../kit/result.js'
import { isJsonObject, isJsonWithin, parseJson } from '../../../model/json.js'
import type { Relay } from '../../../model/relay.js'
import type { RemoteTarget } from '../../../model/remote-target.js'
import { type Client, documentClient } from '../oauth/client.js'
import { createRelayBounds } from './bounds.js'
import type { ClientDocuments } from './clients.js'
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

// Client metadata documents (draft-ietf-oauth-client-id-metadata-document), fetched when a client needs them and
// cached.

/** What the cache of metadata documents is created with. */
export interface ClientDocumentsDeps {
  /** Calls addresses on the public internet, and those of --allow-client-metadata-address. */
  readonly callPublic: CallRemote
  /** Limits of concurrent fetches and of fetches per second, for each host. */
  readonly slots: Slots
  readonly rates: Rates
  /** Milliseconds since the epoch. */
  now(): number
}

const TIMEOUT_MS = 5_000
const MAX_BYTES = 64 * 1024
const MAX_VALUES = 4096
const MAX_LEVELS = 16
const MAX_KEPT = 512

const DAY_MS = 86_400_000
const DEFAULT_MS = 300_000
/** Minimum caching time, even if its headers ask for less: the consent page and its form are two requests. */
const MIN_MS = 10_000
const FAILURE: Times = { freshMs: 30_000, staleMs: 0 }

/** How long an answer is used, and how long it is used while its host may not be asked. */
interface Times {
  readonly freshMs: number
  readonly staleMs: number
}

interface Kept {
  readonly client: Result<Client, string>
  readonly until: number
  /** Until when it may be used while its host may not be asked; at least as late as `until`. */
  readonly staleUntil: number
}

/** Creates an empty cache of metadata documents. */
export function createClientDocuments(deps: ClientDocumentsDeps): ClientDocuments {
  // Oldest first. Failures have a map of their own, because anybody can cause them: they displace no client.
  const clients = new Map<string, Kept>()
  const failures = new Map<string, Kept>()
  const keep = (url: string, client: Result<Client, string>, times: Times): void => {
    for (const kept of [clients, failures]) kept.delete(url)
    const kept = client.ok ? clients : failures
    const [oldest] = kept.keys()
    if (kept.size >= MAX_KEPT && oldest !== undefined) kept.delete(oldest)
    const now = deps.now()
    kept.set(url, { client, until: now + times.freshMs, staleUntil: now + times.staleMs })
  }
  return {
    async get(url, signal) {
      const known = clients.get(url) ?? failures.get(url)
      if (known !== undefined && deps.now() < known.until) return known.client
      const { host } = new URL(url)
      const giveBack = deps.rates.take(host) ? deps.slots.take(host) : undefined
      if (giveBack === undefined) return latest(known, deps.now()) ?? BUSY
      try {
        const answer = await deps.callPublic(targetOf(url), {
          method: 'GET',
          timeoutMs: TIMEOUT_MS,
          maxBytes: MAX_BYTES,
          signal,
        })
        // An aborted fetch says nothing about the document, so nothing is cached.
        if (!answer.ok && answer.error.type === 'aborted') return UNREAD
        const client = answer.ok ? readClient(url, answer.value) : UNREAD
        keep(url, client, client.ok && answer.ok ? timesOf(answer.value, deps.now()) : FAILURE)
        return client
      } finally {
        giveBack()
      }
    },
  }
}

/** Returns the client of a document that may be out of date, if its headers allow that: a flood must not end logins. */
const latest = (known: Kept | undefined, now: number): Result<Client, string> | undefined =>
  known?.client.ok === true && now < known.staleUntil ? known.client : undefined

const BUSY = err('Too many clients of this host log in at this moment. Try again in a moment.')
const UNREAD = err('The description of this client cannot be read at the moment.')

/** url: result of metadataUrl(). */
function targetOf(url: string): RemoteTarget {
  const { hostname, port } = new URL(url)
  return {
    url,
    endpoints: { type: 'name', host: hostname, port: port === '' ? 443 : Number(port) },
    tls: { hostname, subjectAltNames: [], authorities: 'System' },
  }
}

function readClient(url: string, { status, headers, body }: RemoteAnswer): Result<Client, string> {
  const isJson = /^application\/(?:[\w.+-]+\+)?json *(?:;|$)/i.test(headers['content-type'] ?? '')
  if (status !== 200 || !isJson || !isJsonWithin(body, MAX_VALUES, MAX_LEVELS)) return UNREAD
  const document = parseJson(body)
  if (!isJsonObject(document)) return UNREAD
  const client = documentClient(url, document)
  return client.ok ? client : err(`The description of this client cannot be used: ${client.error}.`)
}

function timesOf({ headers }: RemoteAnswer, now: number): Times {
  const wanted = freshnessOf(headers, now) ?? DEFAULT_MS
  const freshMs = Math.min(DAY_MS, Math.max(MIN_MS, wanted))
  return { freshMs, staleMs: forbidsStale(headers['cache-control']) ? freshMs : DAY_MS }
}

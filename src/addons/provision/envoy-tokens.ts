// Knows the Envoys that Gatehouse created by the tokens of their service accounts, and which Gateway each serves. A
// token is reviewed once, and again every few minutes beside the calls that it comes with.

import { hash } from 'node:crypto'
import { errorText } from '../../kit/errors.js'
import { isJsonObject, parseJson } from '../../model/json.js'
import { ENVOY_TOKEN_HEADER } from '../../model/names.js'
import type { Authenticator } from '../../wire/grpc/authenticated.js'
import { needsNoToken, type Peer } from '../../wire/grpc/peer.js'
import type { Call } from '../../wire/grpc/service.js'
import { GrpcError, Status } from '../../wire/grpc/status.js'

/** What the tokens are checked with. */
export interface EnvoyTokensOptions {
  /** The audience that a token must be for. */
  readonly audience: string
  /** Resolves to the user name of the token's owner; undefined: it is not valid. */
  readonly review: (token: string) => Promise<string | undefined>
  /**
   * Returns the Gateway ("NAMESPACE/NAME") whose Envoys have this service account ("NAMESPACE/NAME"); undefined: none.
   * The function is undefined until the Gateways are known.
   */
  readonly gatewayOf: () => ((account: string) => string | undefined) | undefined
  /** Milliseconds since the epoch. */
  readonly now: () => number
  readonly onWarning: (message: string) => void
}

/** A token that was valid when it was last reviewed. */
interface Known {
  /** "NAMESPACE/NAME" of its service account. */
  readonly account: string
  readonly user: string
  /** When it expires, in milliseconds since the epoch. */
  readonly expires: number
  reviewed: number
  isReviewed: boolean
  isRevoked: boolean
}

type Claims = Pick<Known, 'account' | 'user' | 'expires'>

/** How long a review counts, in milliseconds. */
const REVIEW_EVERY = 300_000
/** How long calls wait for a review, in milliseconds. */
const PATIENCE = 5_000
/** Maximum number of reviews at once: the API server serves others, too. */
const MAX_REVIEWS = 16
/** Maximum number of tokens that are remembered. An Envoy has one at a time. */
const MAX_KNOWN = 10_000

/** Authenticates Envoys. */
export class EnvoyTokens implements Authenticator {
  readonly #options: EnvoyTokensOptions
  readonly #budget: ReviewBudget
  /** By digest, the one used last at the end. */
  readonly #known = new Map<string, Known>()
  readonly #reviews = new Map<string, Promise<Known>>()
  /** The token that a connection has proved. Its calls repeat it. */
  readonly #peers = new WeakMap<Peer, { readonly token: string; readonly known: Known }>()
  readonly #refusals = noRefusals()

  constructor(options: EnvoyTokensOptions) {
    this.#options = options
    this.#budget = new ReviewBudget(options.now)
  }

  /** Admits peers with a client certificate, and calls with the token of an Envoy of a Gateway. */
  admit(call: Call): Promise<void> | undefined {
    return this.#admit(call)?.catch((error: unknown) => {
      if (error instanceof TokenRefusal) this.#refusals[error.reason] += 1
      throw error
    })
  }

  /** Returns how many calls were refused so far, by reason. */
  refusals(): TokenRefusals {
    return this.#refusals
  }

  #admit(call: Call): Promise<void> | undefined {
    const { peer } = call
    if (needsNoToken(peer)) return undefined
    const token = tokenOf(call)
    if (token === undefined) return refuse('none', 'expected a client certificate or a token')
    const proved = this.#peers.get(peer)
    const known = proved?.token === token ? proved.known : this.#find(token)
    if (known === undefined || !this.#isValid(known)) return this.#review(peer, token)
    if (this.#gateway(known.account) === undefined) return denied(known.account)
    if (proved?.known !== known) this.#peers.set(peer, { token, known })
    this.#reviewAgain(token, known)
    return undefined
  }

  /** Whether the peer has proved to be an Envoy of a Gateway. */
  isEnvoy(peer: Peer): boolean {
    return this.#peers.has(peer)
  }

  /**
   * Returns the only Gateway whose Envoy the peer has proved to be; "": none. undefined: a peer that needs no token, which
   * may use every Gateway.
   */
  gatewayOf(peer: Peer): string | undefined {
    if (needsNoToken(peer)) return undefined
    const proved = this.#peers.get(peer)
    return (proved && this.#gateway(proved.known.account)) ?? ''
  }

  #gateway(account: string): string | undefined {
    return this.#options.gatewayOf()?.(account)
  }

  #find(token: string): Known | undefined {
    const digest = digestOf(token)
    const known = this.#known.get(digest)
    if (known === undefined) return undefined
    this.#known.delete(digest)
    this.#known.set(digest, known)
    return known
  }

  #isValid({ expires, isRevoked }: Known): boolean {
    return !isRevoked && this.#options.now() < expires
  }

  async #review(peer: Peer, token: string): Promise<void> {
    const known = await this.#reviewOnce(token, peer.address)
    this.#peers.set(peer, { token, known })
  }

  /**
   * Rejects without asking the API server where the token itself shows that it is not one for Gatehouse. What it says
   * of its account is not looked up before the review: the answer would tell anyone which Gateways there are.
   */
  #reviewOnce(token: string, address: string): Promise<Known> {
    const digest = digestOf(token)
    const running = this.#reviews.get(digest)
    if (running !== undefined) return running
    const { audience, now, gatewayOf } = this.#options
    const claims = readTokenClaims(token)
    if (claims === undefined) return refuse('unusable', 'expected the token of a service account')
    if (!claims.audiences.includes(audience))
      return refuse('unusable', `expected a token with the audience ${audience}`)
    if (claims.expires <= now()) return refuse('unusable', 'the token has expired')
    if (gatewayOf() === undefined) return unavailable('no-answer', 'the Gateways are not known yet')
    if (this.#reviews.size >= MAX_REVIEWS)
      return unavailable('limit', 'too many tokens are reviewed')
    if (!this.#budget.take(address))
      return unavailable('limit', 'too many tokens from this address were refused')
    const review = this.#ask(token, claims, address).finally(() => this.#reviews.delete(digest))
    this.#reviews.set(digest, review)
    return review
  }

  async #ask(token: string, claims: Claims, address: string): Promise<Known> {
    const user = await this.#answer(token).catch((error: unknown) => {
      this.#budget.giveBack(address)
      this.#options.onWarning(`the token of an Envoy cannot be reviewed: ${errorText(error)}`)
      return unavailable('no-answer', 'the token cannot be reviewed')
    })
    if (user !== claims.user) {
      const { account } = claims
      this.#options.onWarning(`a token for the service account ${account} was refused`)
      return refuse('refused', 'the API server refused the token')
    }
    const known = this.#remember(token, claims)
    // Not given back: anyone can have tokens of accounts that are no Envoy's.
    if (this.#gateway(known.account) === undefined) return denied(known.account)
    this.#budget.giveBack(address)
    return known
  }

  #remember(token: string, { account, user, expires }: Claims): Known {
    const reviewed = this.#options.now()
    const known = { account, user, expires, reviewed, isReviewed: false, isRevoked: false }
    this.#known.set(digestOf(token), known)
    for (const digest of this.#known.keys()) {
      if (this.#known.size <= MAX_KNOWN) break
      this.#known.delete(digest)
    }
    return known
  }

  /** Reviews a token beside the call. While the API server does not answer, what was known counts until it expires. */
  #reviewAgain(token: string, known: Known): void {
    if (known.isReviewed || this.#options.now() < known.reviewed + REVIEW_EVERY) return
    known.isReviewed = true
    void this.#answer(token)
      .then((user) => {
        if (user === known.user) return
        known.isRevoked = true
        this.#known.delete(digestOf(token))
        this.#options.onWarning(
          `the token of the service account ${known.account} is no longer valid`,
        )
      })
      .catch((error: unknown) =>
        this.#options.onWarning(`the token of an Envoy cannot be reviewed: ${errorText(error)}`),
      )
      .finally(() => {
        known.reviewed = this.#options.now()
        known.isReviewed = false
      })
  }

  #answer(token: string): Promise<string | undefined> {
    return new Promise((resolve, reject) => {
      const late = (): void => reject(new Error(`no answer within ${PATIENCE} ms`))
      const timer = setTimeout(late, PATIENCE)
      void this.#options
        .review(token)
        .then(resolve, reject)
        .finally(() => clearTimeout(timer))
    })
  }
}

const MAX_TOKEN_LENGTH = 16_384

function tokenOf(call: Call): string | undefined {
  const [value = '', ...more] = call.metadata(ENVOY_TOKEN_HEADER)
  const isOne = more.length === 0 && value !== '' && value.length <= MAX_TOKEN_LENGTH
  return isOne ? value : undefined
}

const digestOf = (token: string): string => hash('sha256', token)

const refuse = (reason: 'none' | 'unusable' | 'refused', details: string): Promise<never> =>
  Promise.reject(new TokenRefusal(reason, Status.UNAUTHENTICATED, details))

const unavailable = (reason: 'limit' | 'no-answer', details: string): Promise<never> =>
  Promise.reject(new TokenRefusal(reason, Status.UNAVAILABLE, details))

const denied = (account: string): Promise<never> =>
  Promise.reject(
    new TokenRefusal(
      'no-gateway',
      Status.PERMISSION_DENIED,
      `no Gateway has Envoys of the service account ${account}`,
    ),
  )

// Reads the claims of a service account's token. They are not verified: the API server does that.

/** What a token says of itself. */
export interface TokenClaims {
  /** The user name of its service account, "system:serviceaccount:NAMESPACE:NAME". */
  readonly user: string
  /** "NAMESPACE/NAME" of its service account. */
  readonly account: string
  readonly audiences: readonly string[]
  /** When it expires, in milliseconds since the epoch. */
  readonly expires: number
}

const SERVICE_ACCOUNT = /^system:serviceaccount:([a-z0-9-]{1,63}):([a-z0-9.-]{1,253})$/

/** Returns undefined for what is not the token of a service account that expires. */
function readTokenClaims(token: string): TokenClaims | undefined {
  const [, payload = '', , ...more] = token.split('.', 5)
  if (more.length > 0) return undefined
  const claims = parseJson(Buffer.from(payload, 'base64url'))
  if (!isJsonObject(claims)) return undefined
  const { sub, aud, exp } = claims
  if (typeof sub !== 'string' || typeof exp !== 'number' || !Array.isArray(aud)) return undefined
  const [, namespace, name] = SERVICE_ACCOUNT.exec(sub) ?? []
  if (namespace === undefined || name === undefined) return undefined
  const audiences = aud.filter((each) => typeof each === 'string')
  return { user: sub, account: `${namespace}/${name}`, audiences, expires: exp * 1000 }
}

// Why a call of an Envoy, or of what claims to be one, is not served.

/**
 * Why a call was refused: it had no token ("none") or one that is not for Gatehouse ("unusable"), the API server did not
 * confirm the token ("refused") or did not answer ("no-answer"), no Gateway has Envoys of its account ("no-gateway"), or
 * too many tokens were to be reviewed ("limit").
 */
export type TokenRefusalReason =
  'none' | 'unusable' | 'refused' | 'no-gateway' | 'no-answer' | 'limit'

/** Number of refused calls by reason. */
type TokenRefusals = Readonly<Record<TokenRefusalReason, number>>

/** Returns the counts of nothing. */
export const noRefusals = (): Record<TokenRefusalReason, number> => ({
  none: 0,
  unusable: 0,
  refused: 0,
  'no-gateway': 0,
  'no-answer': 0,
  limit: 0,
})

/** A refused call, which ends with a status and has a reason to count it by. */
class TokenRefusal extends GrpcError {
  readonly reason: TokenRefusalReason

  constructor(reason: TokenRefusalReason, status: Status, details: string) {
    super(status, details)
    this.reason = reason
  }
}

// Limits what made-up tokens cost the API server: anyone who reaches the gRPC address can send them.

/** Maximum number of reviews of one address in a window that have not confirmed the token. */
const MAX_SPENT = 8
/** Length of the window in milliseconds. */
const WINDOW = 60_000
/** Maximum number of addresses that are counted in a window; reviews of others wait for the next. */
const MAX_ADDRESSES = 10_000

/** How many reviews each address has left. A review costs one, and returns it unless the token is refused. */
class ReviewBudget {
  readonly #now: () => number
  readonly #spent = new Map<string, number>()
  #begun = 0

  /** now: milliseconds since the epoch. */
  constructor(now: () => number) {
    this.#now = now
  }

  /** Takes one review of the address. Returns false if none is left. */
  take(address: string): boolean {
    if (this.#now() >= this.#begun + WINDOW) {
      this.#begun = this.#now()
      this.#spent.clear()
    }
    const spent = this.#spent.get(address)
    if ((spent ?? 0) >= MAX_SPENT) return false
    if (spent === undefined && this.#spent.size >= MAX_ADDRESSES) return false
    this.#spent.set(address, (spent ?? 0) + 1)
    return true
  }

  /** Returns a review that take() took. */
  giveBack(address: string): void {
    const spent = this.#spent.get(address) ?? 0
    if (spent > 1) this.#spent.set(address, spent - 1)
    else this.#spent.delete(address)
  }
}

// Lets one release write the statuses of a namespace, where several read it: each keeps a Lease of its own beside those of
// the others, with what it reads, from which each knows the writer (claim-order.ts).

import { errorText } from '../../../kit/errors.js'
import { isJsonObject, type JsonObject, parseJson } from '../../../model/json.js'
import {
  allAhead,
  type ClaimedRelease,
  type ClaimScope,
  isWrittenAhead,
  type ReleasesAhead,
  releasesAhead,
} from './claim-order.js'
import { type KubernetesClient, KubernetesError } from './client.js'
import {
  createLeaseExpiry,
  LEASE_SECONDS,
  leaseDuration,
  leaseMetadata,
  leaseName,
  leasesPath,
  leaseSpec,
  leaseText,
  LOOK_EVERY,
  microTime,
  RENEW_EVERY,
  SURE_FOR,
} from './lease-object.js'

/** What a claim is started with. */
export interface StatusClaimOptions {
  readonly client: KubernetesClient
  /** The release's own name, which its replicas share. */
  readonly release: { readonly namespace: string; readonly name: string }
  /** Identifies this process among the replicas. */
  readonly identity: string
  readonly scope: ClaimScope
  /** Called when the release writes more or less than before; undefined: nothing, as it does not know of the others. */
  onChange(ahead: ReleasesAhead | undefined): void
  /** Logs a sentence. */
  onWarning(message: string): void
}

/** The claim of a release. */
export interface StatusClaim {
  /** Sets whether this replica speaks for its release. */
  hold(held: boolean): void
  /** Whether the release writes the status of an object of this kind in this namespace ('': in none). */
  covers(kind: string, namespace: string): boolean
  close(): Promise<void>
}

/** Where all releases of a cluster look: a namespace that every cluster has. */
const NAMESPACE = 'default'
const LABEL = 'policy.gatehouse.dev/writes'
const WHAT = 'statuses'
/** The annotation with the release and its scope, as JSON. */
const SCOPE = 'policy.gatehouse.dev/scope'
/** After a shutdown, another replica of the release may go on for as long, in seconds, before another release does. */
const LEFT_SECONDS = 5

/** Starts a claim of a replica that does not speak for its release yet. */
export const startStatusClaim = (options: StatusClaimOptions): StatusClaim => new Claim(options)

class Claim implements StatusClaim {
  readonly #options: StatusClaimOptions
  readonly #name: string
  readonly #path = leasesPath(NAMESPACE)
  readonly #isExpired = createLeaseExpiry()
  readonly #own: ClaimedRelease
  #ahead: ReleasesAhead | undefined
  #told = ''
  #warned = ''
  /** The Lease as it was renewed last, and when. */
  #renewed: { readonly lease: JsonObject; readonly at: number } | undefined
  /** Since when all others can see the Lease. */
  #shownSince = Infinity
  #isHeld = false
  #timer: NodeJS.Timeout | undefined
  #doubt: NodeJS.Timeout | undefined
  #running: Promise<void> = Promise.resolve()

  constructor(options: StatusClaimOptions) {
    this.#options = options
    const { namespace, name } = options.release
    this.#name = `gatehouse-status.${namespace}.${name}`
    this.#own = { release: `${namespace}/${name}`, scope: options.scope }
  }

  hold(held: boolean): void {
    if (held === this.#isHeld) return
    this.#isHeld = held
    clearTimeout(this.#timer)
    if (held) this.#running = this.#running.then(() => this.#round())
    else {
      this.#renewed = undefined
      this.#settle(undefined)
    }
  }

  covers(kind: string, namespace: string): boolean {
    return this.#ahead !== undefined && !isWrittenAhead(this.#ahead, kind, namespace)
  }

  async close(): Promise<void> {
    const wasHeld = this.#isHeld
    this.#isHeld = false
    clearTimeout(this.#timer)
    await this.#running
    clearTimeout(this.#doubt)
    if (wasHeld && this.#renewed !== undefined) await this.#leave(this.#renewed.lease)
  }

  async #round(): Promise<void> {
    if (!this.#isHeld) return
    try {
      const ahead = await this.#look()
      this.#warned = ''
      if (this.#isHeld) this.#trust(ahead)
    } catch (error) {
      this.#failed(error)
    }
    clearTimeout(this.#timer)
    if (this.#isHeld)
      this.#timer = setTimeout(() => {
        this.#running = this.#round()
      }, LOOK_EVERY)
  }

  #failed(error: unknown): void {
    // Another replica of the release was faster: the next look shows it.
    if (error instanceof KubernetesError && error.status === 409) return
    const message = errorText(error)
    if (message !== this.#warned)
      this.#options.onWarning(
        `no status is written, as other releases cannot be told apart: ${message}`,
      )
    this.#warned = message
  }

  /** Goes by what was seen for as long as the Lease is sure. */
  #trust(ahead: ReleasesAhead): void {
    const sureFor = (this.#renewed?.at ?? -Infinity) + SURE_FOR - performance.now()
    clearTimeout(this.#doubt)
    this.#settle(sureFor > 0 ? ahead : undefined)
    // A call that hangs or a suspended process must not keep writing next to another release.
    if (sureFor > 0) this.#doubt = setTimeout(() => this.#settle(undefined), sureFor)
  }

  #settle(ahead: ReleasesAhead | undefined): void {
    const text = JSON.stringify(ahead) ?? ''
    this.#ahead = ahead
    if (text === this.#told) return
    this.#told = text
    this.#options.onChange(ahead)
  }

  /** Returns the releases that write in the place of this one, after those that look at the same time can see it. */
  async #look(): Promise<ReleasesAhead> {
    const leases = await this.#list()
    const own = leases.find((lease) => leaseName(lease) === this.#name)
    const isOurs = leaseSpec(own)['holderIdentity'] === this.#options.identity
    const isFresh = performance.now() - (this.#renewed?.at ?? -Infinity) < RENEW_EVERY
    if (isOurs && isFresh) return this.#aheadIn(leases)
    await this.#renew(own, leases)
    return this.#aheadIn(await this.#list())
  }

  async #list(): Promise<readonly JsonObject[]> {
    const selector = encodeURIComponent(`${LABEL}=${WHAT}`)
    const { items } = await this.#options.client.call(
      'GET',
      `${this.#path}?labelSelector=${selector}`,
    )
    return Array.isArray(items) ? items.filter(isJsonObject) : []
  }

  /** Makes or renews the Lease. One that has run out comes after all others. */
  async #renew(own: JsonObject | undefined, all: readonly JsonObject[]): Promise<void> {
    const began = performance.now()
    const age = Date.now() - Date.parse(leaseText(own, 'renewTime'))
    const isKept = own !== undefined && Math.abs(age) < leaseDuration(own)
    const body = this.#leaseOf(own, {
      acquireTime: isKept ? leaseText(own, 'acquireTime') : afterAll(all),
      leaseDurationSeconds: LEASE_SECONDS,
    })
    const { client } = this.#options
    const lease =
      own === undefined
        ? await client.call('POST', this.#path, body)
        : await client.call('PUT', `${this.#path}/${this.#name}`, body)
    const pause = began - (this.#renewed?.at ?? -Infinity)
    this.#renewed = { lease, at: began }
    if (!isKept || pause > SURE_FOR) this.#shownSince = performance.now()
  }

  #leaseOf(before: JsonObject | undefined, spec: JsonObject): JsonObject {
    const { identity } = this.#options
    const { resourceVersion } = leaseMetadata(before)
    return {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: {
        ...(typeof resourceVersion === 'string' && { resourceVersion }),
        name: this.#name,
        namespace: NAMESPACE,
        labels: { [LABEL]: WHAT },
        annotations: { [SCOPE]: JSON.stringify(this.#own) },
      },
      spec: { holderIdentity: identity, renewTime: microTime(), ...spec },
    }
  }

  #aheadIn(leases: readonly JsonObject[]): ReleasesAhead {
    const own = leases.find((lease) => leaseName(lease) === this.#name)
    // Somebody has removed it: without it others do not see this release.
    if (own === undefined) throw new KubernetesError(`the Lease ${this.#name} is gone`)
    const releases = leases
      .filter((lease) => lease === own || !this.#isExpired(lease))
      .toSorted((one, other) => (rankOf(one) < rankOf(other) ? -1 : 1))
      .flatMap((lease) => (lease === own ? this.#own : (readClaim(lease) ?? [])))
    // A release that has not looked since goes on for as long as its own Lease is sure.
    const isSeen = performance.now() - this.#shownSince > SURE_FOR
    return isSeen ? releasesAhead(this.#own, releases) : allAhead(this.#own, releases)
  }

  /** Keeps the turn for another replica of the release, but not for long. */
  async #leave(lease: JsonObject): Promise<void> {
    const acquireTime = leaseText(lease, 'acquireTime')
    const spec = { acquireTime, leaseDurationSeconds: LEFT_SECONDS }
    try {
      await this.#options.client.call(
        'PUT',
        `${this.#path}/${this.#name}`,
        this.#leaseOf(lease, spec),
      )
    } catch {
      // The Lease expires by itself.
    }
  }
}

/** What Leases are ordered by: since when they are kept, then their names. */
const rankOf = (lease: JsonObject): string =>
  `${leaseText(lease, 'acquireTime')} ${leaseName(lease)}`

/** Returns a time after those of all Leases, whatever the clocks of their holders say. */
function afterAll(leases: readonly JsonObject[]): string {
  const times = leases.map((lease) => Date.parse(leaseText(lease, 'acquireTime')) + 1)
  return microTime(new Date(Math.max(Date.now(), ...times.filter((time) => !Number.isNaN(time)))))
}

/** Returns what a Lease says; undefined: nothing that a release would say. */
function readClaim(lease: JsonObject): ClaimedRelease | undefined {
  const { annotations } = leaseMetadata(lease)
  const text = isJsonObject(annotations) ? annotations[SCOPE] : undefined
  const read = typeof text === 'string' ? parseJson(Buffer.from(text)) : undefined
  if (!isJsonObject(read) || !isJsonObject(read['scope'])) return undefined
  const { release } = read
  const { apiGroup, mode, namespaces, provisions } = read['scope']
  if (!isText(release) || !isText(apiGroup) || !isText(mode)) return undefined
  if (!Array.isArray(namespaces) || !namespaces.every(isText)) return undefined
  return { release, scope: { apiGroup, mode, namespaces, provisions: provisions === true } }
}

const isText = (value: unknown): value is string => typeof value === 'string'

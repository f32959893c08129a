// Per-type stream state: held, in-flight and rejected versions.

import { compareText } from '../../kit/incremental/sorted-list.js'
import type { EncodedResource } from '../encode/encode.js'
import {
  type ChangedResources,
  type InFlight,
  InFlightResponses,
  type SentChange,
  type SentResponse,
} from './in-flight.js'
import type { HeldVersion, SharedViews } from './shared-views.js'
import type { ResourceMap } from './snapshot-cache.js'

/** What a stream should be sent of one type. */
export interface Changes {
  /** New or changed resources that no NACK of their version holds back for now. */
  readonly updated: readonly EncodedResource[]
  /** Names of resources held but no longer wanted. */
  readonly gone: readonly string[]
  /** Like gone, but their removal was rejected: removed along with other changes, not by a response of their own. */
  readonly lingering: readonly string[]
}

/** Stands for a removal in place of a version. */
const REMOVAL = ''

/** The delivery of one type on one stream. */
export class Delivery {
  readonly #isDivisible: boolean
  readonly #views: SharedViews
  readonly #held: HeldResources
  readonly #refused = new NackRetries()
  /** Names rejected together with others. */
  readonly #suspects = new Suspects()
  /** The result for the last map, until anything changes here. */
  #known: { readonly wanted: ResourceMap; readonly changes: Changes } | undefined
  /** The last map passed to changes(). */
  #wanted: ResourceMap | undefined
  /** Names whose held version may differ from the wanted one; all others need no check. */
  readonly #open = new Set<string>()
  /** Whether all wanted names are implicitly open, without being in the set: Envoy has nothing yet. */
  #isAllOpen = false
  readonly #inFlight = new InFlightResponses()

  /** isDivisible: whether a response may have some of the changed resources and leave the others for later. */
  constructor(isDivisible: boolean, views: SharedViews) {
    this.#isDivisible = isDivisible
    this.#views = views
    this.#held = new HeldResources(views)
  }

  /** When the last unanswered response was sent, by performance.now(). */
  get waitingSince(): number | undefined {
    return this.#inFlight.lastSentAt
  }

  /** Whether anything rejected was neither accepted in another version nor removed since. */
  get hasRefused(): boolean {
    return this.#refused.size + this.#suspects.size > 0
  }

  /** Whether Envoy has nothing. */
  get isEmpty(): boolean {
    return this.#held.isEmpty
  }

  /** Whether Envoy has any version of it. */
  holds(name: string): boolean {
    const held = this.#held.get(name)
    return held !== undefined && held.isRefused !== true
  }

  /** Whether Envoy has it in this version. */
  has({ name, version }: EncodedResource): boolean {
    return this.#held.get(name)?.version === version
  }

  /** Returns the names in unanswered responses. */
  underWay(): Iterable<string> {
    return this.#inFlight.names()
  }

  changes(wanted: ResourceMap): Changes {
    if (this.#known?.wanted !== wanted) this.#known = { wanted, changes: this.#changesTo(wanted) }
    return this.#known.changes
  }

  #changesTo(wanted: ResourceMap): Changes {
    const isFirst = this.#wanted === undefined && this.#held.isEmpty && !this.hasRefused
    if (isFirst) {
      this.#wanted = wanted
      this.#isAllOpen = true
      return { updated: this.#views.sorted(wanted), gone: [], lingering: [] }
    }
    this.#openChanges(wanted)
    const [updated, gone, lingering]: [EncodedResource[], string[], string[]] = [[], [], []]
    for (const name of this.#open) {
      const resource = wanted.get(name)
      if (resource === undefined ? !this.#held.has(name) : this.has(resource))
        this.#open.delete(name)
      else if (resource !== undefined) {
        if (!this.#refused.waits(name, resource.version)) updated.push(resource)
      } else if (this.#refused.waits(name, REMOVAL)) lingering.push(name)
      else gone.push(name)
    }
    updated.sort((a, b) => compareText(a.name, b.name))
    return { updated, gone, lingering }
  }

  #openChanges(wanted: ResourceMap): void {
    if (this.#isAllOpen) for (const name of this.#wanted?.keys() ?? []) this.#open.add(name)
    this.#isAllOpen = false
    if (this.#wanted === undefined)
      for (const names of [wanted.keys(), this.#held.keys()])
        for (const name of names) this.#open.add(name)
    else if (this.#wanted !== wanted) {
      const { removed, added } = this.#views.changes(this.#wanted, wanted)
      for (const { name } of [...removed, ...added]) this.#open.add(name)
    }
    this.#wanted = wanted
  }

  #hold(name: string, held: HeldVersion): void {
    this.#held.set(name, held)
    this.#open.add(name)
  }

  /** When rejected resources are due for a retry, by performance.now(); undefined if none is. */
  get retryAt(): number | undefined {
    return this.#refused.nextAt
  }

  /** Schedules what is due for a retry, each in a response of its own. */
  retry(now: number): void {
    for (const name of this.#refused.takeDue(now)) {
      this.#known = undefined
      if (this.#isDivisible) this.#suspects.add([name])
    }
  }

  /** Returns what the next response may have: everything that is not suspect, or else one group of suspects alone. */
  forOneResponse({ updated, gone, lingering }: Changes): Changes {
    if (this.#suspects.size === 0) return { updated, gone, lingering }
    const first = this.#suspects.firstGroup([...updated.map(({ name }) => name), ...gone])
    const isNow = (name: string): boolean => this.#suspects.groupOf(name) === first
    return {
      updated: updated.filter(({ name }) => isNow(name)),
      gone: gone.filter(isNow),
      lingering: first === 0 ? lingering : [],
    }
  }

  /** Whether Envoy works with what is wanted: nothing is in flight, and nothing wanted is unsent or rejected. */
  isCurrent(wanted: ResourceMap): boolean {
    if (this.#inFlight.size > 0 || this.changes(wanted).updated.length > 0) return false
    return [...this.#refused.versions()].every(
      ([name, version]) => wanted.get(name)?.version !== version,
    )
  }

  /** Returns held resources that are no longer wanted, to be kept a little longer. */
  leftovers(wanted: ResourceMap): EncodedResource[] {
    return [...this.#held.entries()].flatMap(([name, { resource }]) =>
      resource === undefined || wanted.has(name) ? [] : [resource],
    )
  }

  sent(push: SentResponse): void {
    this.#known = undefined
    const { nonce, version, resources, removed } = push
    const changed = this.#hasAll(resources) ? this.#sentAll(resources) : this.#sentSome(resources)
    this.forget(removed)
    this.#inFlight.add(nonce, { version, sentAt: performance.now(), changed, removed })
  }

  /** Whether Envoy had nothing and the response has everything that is wanted. */
  #hasAll(resources: readonly EncodedResource[]): boolean {
    const wanted = this.#wanted
    if (!this.#held.isEmpty || wanted?.size !== resources.length) return false
    return (
      resources === this.#views.sorted(wanted) ||
      resources.every((resource) => wanted.get(resource.name) === resource)
    )
  }

  #sentAll(resources: readonly EncodedResource[]): InFlight['changed'] {
    if (this.#wanted !== undefined) this.#held.setAll(this.#wanted)
    this.#open.clear()
    this.#isAllOpen = false
    return () => new Map(resources.map(({ name, version }) => [name, { version, isNew: true }]))
  }

  #sentSome(resources: readonly EncodedResource[]): InFlight['changed'] {
    const changed = new Map<string, SentChange>()
    for (const resource of resources) {
      const { name, version } = resource
      const held = this.#held.get(name)
      if (held?.version !== version) {
        const isNew = !this.holds(name)
        changed.set(name, { version, isNew, ...(held?.resource && { before: held.resource }) })
      }
      this.#held.setResource(resource)
      this.#open.add(name)
    }
    return () => changed
  }

  /** Records an ACK. Returns the version of the response; undefined if no response with this nonce is waiting. */
  accepted(nonce: string): string | undefined {
    const answered = this.#inFlight.take(nonce)
    if (!this.hasRefused) return answered?.version
    for (const name of answered?.changed().keys() ?? []) {
      const wasRefused = this.#refused.delete(name)
      if (this.#suspects.delete(name) || wasRefused) this.#known = undefined
    }
    return answered?.version
  }

  /** Records a NACK; returns like accepted(). Envoy may have applied a part of it, so what it has now is unknown. */
  refused(nonce: string): string | undefined {
    this.#known = undefined
    const answered = this.#inFlight.take(nonce)
    if (answered === undefined) return undefined
    const { version, removed } = answered
    const changed = answered.changed()
    for (const [name, { isNew, before }] of changed) {
      this.#hold(name, {
        version: '',
        ...(before && { resource: before }),
        ...(isNew && { isRefused: true }),
      })
    }
    for (const name of removed) this.#hold(name, { version: '' })
    if (this.#isDivisible && changed.size + removed.length > 1) this.#suspect(changed, removed)
    else this.#refuse(changed, removed)
    return version
  }

  #refuse(changed: ChangedResources, removed: InFlight['removed']): void {
    const now = performance.now()
    for (const [name, { version }] of changed) this.#refused.add(name, version, now)
    for (const name of removed) this.#refused.add(name, REMOVAL, now)
    for (const name of removed) this.#suspects.delete(name)
    for (const name of changed.keys()) this.#suspects.delete(name)
  }

  /**
   * Makes the rejected names suspects. Removals go first, by themselves: Envoy may have applied them, but would still
   * list the removed resources on its next stream.
   */
  #suspect(changed: ChangedResources, removed: InFlight['removed']): void {
    if (changed.size === 0) return this.#suspects.addHalves(removed)
    const removals = new Set(removed)
    this.#suspects.add(removed)
    this.#suspects.addHalves([...changed.keys()].filter((name) => !removals.has(name)))
  }

  /** Records what an incremental client reports to have from an earlier stream. */
  alreadyHeld(versions: Readonly<Record<string, string>>): void {
    this.#known = undefined
    for (const [name, version] of Object.entries(versions)) this.#hold(name, { version })
  }

  /** State of the world: records what Envoy has from an earlier stream. */
  stillHas(resources: readonly EncodedResource[]): void {
    this.#known = undefined
    for (const resource of resources)
      this.#hold(resource.name, { version: resource.version, resource })
  }

  /** Treats the resources as never sent; the next response has them. */
  forget(names: Iterable<string>): void {
    this.#known = undefined
    for (const name of names) {
      this.#held.delete(name)
      this.#open.add(name)
      this.#refused.delete(name)
      this.#suspects.delete(name)
    }
  }

  /** Records that Envoy may have any version of them, or none: they are sent or removed again. */
  doubt(isMeant: (name: string) => boolean): void {
    const meant = [...this.#held.keys()].filter(isMeant)
    this.forget(meant)
    for (const name of meant) this.#hold(name, { version: '' })
  }

  forgetUnless(wants: (name: string) => boolean): void {
    const unwanted = [...this.#held.keys()].filter((name) => !wants(name))
    if (unwanted.length > 0) this.forget(unwanted)
  }
}

// Bisects NACKed batches to isolate the bad resource (group testing).

/** Names that were rejected together, in groups that are sent one by one. */
class Suspects {
  /** Group number by name, from 1; lower groups are sent first. */
  readonly #groups = new Map<string, number>()
  #last = 0

  get size(): number {
    return this.#groups.size
  }

  delete(name: string): boolean {
    return this.#groups.delete(name)
  }

  /** Adds a group after all others. Larger groups are sent first, so most good resources are soon in force. */
  add(names: readonly string[]): void {
    this.#last += 1
    for (const name of names) this.#groups.set(name, this.#last)
  }

  addHalves(names: readonly string[]): void {
    const middle = Math.ceil(names.length / 2)
    this.add(names.slice(0, middle))
    this.add(names.slice(middle))
  }

  /** Returns the group of a name; 0 if it is not suspect. */
  groupOf(name: string): number {
    return this.#groups.get(name) ?? 0
  }

  /** Returns the group of these names that is sent first. */
  firstGroup(names: Iterable<string>): number {
    let first = Infinity
    for (const name of names) first = Math.min(first, this.groupOf(name))
    return Number.isFinite(first) ? first : 0
  }
}

// The resources of one type that one stream holds, by name: a map shared with other streams, and deviations from it.

const NOTHING: ResourceMap = new Map()

/** The resources of one type that a stream holds. */
class HeldResources {
  readonly #views: SharedViews
  #shared = NOTHING
  /** Entries that deviate from the shared map; undefined means not held although it is in that map. */
  readonly #own = new Map<string, HeldVersion | undefined>()

  constructor(views: SharedViews) {
    this.#views = views
  }

  get isEmpty(): boolean {
    return this.#shared.size + this.#own.size === 0
  }

  get(name: string): HeldVersion | undefined {
    if (this.#own.has(name)) return this.#own.get(name)
    const resource = this.#shared.get(name)
    return resource && this.#views.held(resource)
  }

  has(name: string): boolean {
    return this.get(name) !== undefined
  }

  set(name: string, held: HeldVersion): void {
    this.#own.set(name, held)
  }

  setResource(resource: EncodedResource): void {
    this.#own.set(resource.name, this.#views.held(resource))
  }

  /** Holds exactly these resources. */
  setAll(resources: ResourceMap): void {
    this.#shared = resources
    this.#own.clear()
  }

  delete(name: string): void {
    if (this.#shared.has(name)) this.#own.set(name, undefined)
    else this.#own.delete(name)
  }

  *keys(): Iterable<string> {
    for (const [name] of this.entries()) yield name
  }

  *entries(): Iterable<readonly [string, HeldVersion]> {
    for (const [name, resource] of this.#shared)
      if (!this.#own.has(name)) yield [name, this.#views.held(resource)]
    for (const [name, held] of this.#own) if (held !== undefined) yield [name, held]
  }
}

// Retry schedule for NACKed resources of one type: the cause may pass without a new version (a port that another
// process had, a file that did not exist yet).

interface Retry {
  readonly version: string
  readonly pauseMs: number
  /** When it is due, by performance.now(). */
  readonly dueAt: number
  /** Whether it still waits to be sent again. */
  readonly waits: boolean
}

const FIRST_PAUSE_MS = 1_000
const LAST_PAUSE_MS = 60_000
/**
 * Maximum number of retries at a time. Each is sent by itself, so an incurable one does not block others; few at a
 * time, so thousands of them cause little load.
 */
const TRIALS = 8
const TRIAL_EVERY_MS = 1_000

/** The NACKed resources of one type, and when to send each again. */
class NackRetries {
  readonly #byName = new Map<string, Retry>()
  #lastTrial = -Infinity
  /** Earliest time at which anything is due; kept because every check asks for it. */
  #firstDue = Infinity

  get size(): number {
    return this.#byName.size
  }

  /** Records a NACK. The pause starts over with another version and doubles with each NACK of the same one. */
  add(name: string, version: string, now: number): void {
    const before = this.#byName.get(name)
    const pauseMs =
      before?.version === version ? Math.min(before.pauseMs * 2, LAST_PAUSE_MS) : FIRST_PAUSE_MS
    this.#byName.set(name, { version, pauseMs, dueAt: now + pauseMs, waits: true })
    this.#firstDue = Math.min(this.#firstDue, now + pauseMs)
  }

  delete(name: string): boolean {
    return this.#byName.delete(name)
  }

  /** Whether this version was rejected and must not be sent again yet. */
  waits(name: string, version: string): boolean {
    const retry = this.#byName.get(name)
    return retry?.waits === true && retry.version === version
  }

  /** Names and versions of everything rejected, including what is being sent again. */
  *versions(): Iterable<readonly [name: string, version: string]> {
    for (const [name, { version }] of this.#byName) yield [name, version]
  }

  /** When to call takeDue() next, by performance.now(); undefined if nothing waits. */
  get nextAt(): number | undefined {
    return Number.isFinite(this.#firstDue)
      ? Math.max(this.#firstDue, this.#lastTrial + TRIAL_EVERY_MS)
      : undefined
  }

  /** Removes the wait from the names that are due, and returns them, oldest first. */
  takeDue(now: number): readonly string[] {
    if (now < this.#firstDue || now < this.#lastTrial + TRIAL_EVERY_MS) return []
    const waiting = [...this.#byName]
      .filter(([, { waits }]) => waits)
      .sort(([, a], [, b]) => a.dueAt - b.dueAt)
    const due = waiting.slice(0, TRIALS).filter(([, { dueAt }]) => dueAt <= now)
    for (const [name, retry] of due) this.#byName.set(name, { ...retry, waits: false })
    this.#firstDue = waiting[due.length]?.[1].dueAt ?? Infinity
    if (due.length > 0) this.#lastTrial = now
    return due.map(([name]) => name)
  }
}

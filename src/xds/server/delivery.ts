// What one stream has been given of one type, what is under way to it, and what it has refused.

import { compareText } from '../../incremental/sorted-list.js'
import type { EncodedResource } from '../encode/encode.js'
import { HeldResources, type HeldVersion } from './held-resources.js'
import {
  type ChangedResources,
  type InFlight,
  InFlightResponses,
  type SentChange,
} from './in-flight.js'
import { Suspects } from './nack-bisect.js'
import { Refusals } from './refusals.js'
import { resourceChanges, type ResourceMap } from './snapshot-cache.js'

export interface Changes {
  /** New, or of another version, and no refusal of this version keeps it back for now. */
  readonly updated: readonly EncodedResource[]
  /** Held, and wanted no more. */
  readonly gone: readonly string[]
  /** As gone, but their removal was refused: to be removed with something else, not by one more response. */
  readonly lingering: readonly string[]
}

/** A response, as far as it matters here. */
interface Sent {
  readonly nonce: string
  readonly version: string
  readonly resources: readonly EncodedResource[]
  readonly removed: readonly string[]
}

/** In place of a version. */
const REMOVAL = ''

export class Delivery {
  readonly #isDivisible: boolean
  readonly #held = new HeldResources()
  readonly #refused = new Refusals()
  /** Of those that were refused together with others. */
  readonly #suspects = new Suspects()
  /** Of the last map that was asked about, as long as nothing changes here. */
  #known: { readonly wanted: ResourceMap; readonly changes: Changes } | undefined
  /** The last map that was asked about. */
  #wanted: ResourceMap | undefined
  /** Names of which what is held may not be what is wanted: of thousands the others need no look. */
  readonly #open = new Set<string>()
  readonly #inFlight = new InFlightResponses()

  /** isDivisible: a response may hold some of the resources that changed, and leave the others for later. */
  constructor(isDivisible: boolean) {
    this.#isDivisible = isDivisible
  }

  /** When the last response was sent that is not answered yet, by performance.now(). */
  get waitingSince(): number | undefined {
    return this.#inFlight.lastSentAt
  }

  /** Something was refused, and not accepted in another version or taken away since. */
  get hasRefused(): boolean {
    return this.#refused.size + this.#suspects.size > 0
  }

  /** Envoy has a version of it. */
  holds(name: string): boolean {
    const held = this.#held.get(name)
    return held !== undefined && held.isRefused !== true
  }

  /** Envoy has it in this version. */
  has({ name, version }: EncodedResource): boolean {
    return this.#held.get(name)?.version === version
  }

  /** Names of what was sent and is not answered yet. */
  underWay(): Iterable<string> {
    return this.#inFlight.names()
  }

  changes(wanted: ResourceMap): Changes {
    if (this.#known?.wanted !== wanted) this.#known = { wanted, changes: this.#changesTo(wanted) }
    return this.#known.changes
  }

  #changesTo(wanted: ResourceMap): Changes {
    const isFirst = this.#wanted === undefined && this.#held.isEmpty && !this.hasRefused
    this.#openChanges(wanted)
    if (isFirst) {
      const updated = [...wanted.values()].sort((a, b) => compareText(a.name, b.name))
      return { updated, gone: [], lingering: [] }
    }
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
    if (this.#wanted === undefined)
      for (const names of [wanted.keys(), this.#held.keys()])
        for (const name of names) this.#open.add(name)
    else if (this.#wanted !== wanted) {
      const { removed, added } = resourceChanges(this.#wanted, wanted)
      for (const { name } of [...removed, ...added]) this.#open.add(name)
    }
    this.#wanted = wanted
  }

  #hold(name: string, held: HeldVersion): void {
    this.#held.set(name, held)
    this.#open.add(name)
  }

  /** When refusals are due to be sent again, by performance.now(); undefined: none is. */
  get retryAt(): number | undefined {
    return this.#refused.nextAt
  }

  /** The next responses have what is due to be sent again, each by itself. */
  retry(now: number): void {
    for (const name of this.#refused.takeDue(now)) {
      this.#known = undefined
      if (this.#isDivisible) this.#suspects.add([name])
    }
  }

  /** What is no suspect; or else one group of suspects, and nothing with it. */
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

  /** Nothing under way, nothing to send, nothing refused: Envoy works with what is wanted. */
  isCurrent(wanted: ResourceMap): boolean {
    if (this.#inFlight.size > 0 || this.changes(wanted).updated.length > 0) return false
    return [...this.#refused.versions()].every(
      ([name, version]) => wanted.get(name)?.version !== version,
    )
  }

  /** Held resources that are wanted no more, to be kept a little longer. */
  leftovers(wanted: ResourceMap): EncodedResource[] {
    return [...this.#held.entries()].flatMap(([name, { resource }]) =>
      resource === undefined || wanted.has(name) ? [] : [resource],
    )
  }

  sent(push: Sent): void {
    this.#known = undefined
    const { nonce, version, resources, removed } = push
    const changed = this.#hasAll(resources) ? this.#sentAll(resources) : this.#sentSome(resources)
    this.forget(removed)
    this.#inFlight.add(nonce, { version, sentAt: performance.now(), changed, removed })
  }

  /** Envoy had nothing, and this is all that it is to have. */
  #hasAll(resources: readonly EncodedResource[]): boolean {
    return (
      this.#held.isEmpty &&
      this.#wanted?.size === resources.length &&
      resources.every((resource) => this.#wanted?.get(resource.name) === resource)
    )
  }

  #sentAll(resources: readonly EncodedResource[]): InFlight['changed'] {
    if (this.#wanted !== undefined) this.#held.setAll(this.#wanted)
    this.#open.clear()
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

  /** The version that the nonce stands for; undefined: none that is waited for. */
  accepted(nonce: string): string | undefined {
    const answered = this.#inFlight.take(nonce)
    if (!this.hasRefused) return answered?.version
    for (const name of answered?.changed().keys() ?? []) {
      const wasRefused = this.#refused.delete(name)
      if (this.#suspects.delete(name) || wasRefused) this.#known = undefined
    }
    return answered?.version
  }

  /** As accepted(). Envoy may have taken a part of it, so nothing is assumed of what had changed. */
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
   * Removals go first and by themselves: Envoy may have done them, and would say on its next stream that it has what it
   * removed.
   */
  #suspect(changed: ChangedResources, removed: InFlight['removed']): void {
    if (changed.size === 0) return this.#suspects.addHalves(removed)
    const removals = new Set(removed)
    this.#suspects.add(removed)
    this.#suspects.addHalves([...changed.keys()].filter((name) => !removals.has(name)))
  }

  /** What an incremental client says it has from an earlier stream. */
  alreadyHeld(versions: Readonly<Record<string, string>>): void {
    this.#known = undefined
    for (const [name, version] of Object.entries(versions)) this.#hold(name, { version })
  }

  /** State of the world: what Envoy has from an earlier stream. */
  stillHas(resources: readonly EncodedResource[]): void {
    this.#known = undefined
    for (const resource of resources)
      this.#hold(resource.name, { version: resource.version, resource })
  }

  /** As if never sent: the next response has them. */
  forget(names: Iterable<string>): void {
    this.#known = undefined
    for (const name of names) {
      this.#held.delete(name)
      this.#open.add(name)
      this.#refused.delete(name)
      this.#suspects.delete(name)
    }
  }

  /** Envoy may have any version of them, or none: they are sent, or removed, again. */
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

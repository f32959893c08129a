// Keeps the enforcement of all policies up to date: after each round of the controller, and after each sweep of probes.

import type { ObjectMirror } from '../../../control/sources/kubernetes/mirror.js'
import type { KeeperState } from '../../../control/sources/kubernetes/object-keeper.js'
import { errorText } from '../../../kit/errors.js'
import { runInTurns, type Work } from '../../../kit/turns.js'
import type { MeshRoute } from '../../../model/mesh-route.js'
import { type Enforcement, enforcementWork } from './enforcement.js'
import type { OpenPaths } from './open-paths.js'
import {
  type ProbeSources,
  probeTargets,
  type RouteProbes,
  withinAMinute,
} from './probe-targets.js'
import type { Prober } from './prober.js'
import type { SuspectSources } from './suspects.js'
import type { Wanted } from './wanted.js'

/** What the enforcer needs. */
export interface EnforcerDeps extends ProbeSources, Omit<SuspectSources, 'ofKind'> {
  readonly mirror: ObjectMirror
  readonly prober: Prober
  /** Called with all results when one has changed. */
  readonly onChange: (
    now: ReadonlyMap<string, Enforcement>,
    before: ReadonlyMap<string, Enforcement>,
  ) => void
  readonly onWarning: (message: string) => void
}

/** Keeps the enforcement of all policies up to date. */
export class Enforcer {
  readonly #deps: EnforcerDeps
  #state: KeeperState<Wanted> | undefined
  #openPaths: OpenPaths | undefined
  #known: ReadonlyMap<string, Enforcement> = new Map()
  #running: Promise<void> | undefined
  #isStale = false
  #hasNewTargets = false
  #probes: ProbesByRoute = new Map()

  constructor(deps: EnforcerDeps) {
    this.#deps = deps
  }

  /** Takes the state after a round of the controller. */
  take(state: KeeperState<Wanted>, openPaths: OpenPaths): void {
    this.#state = state
    this.#openPaths = openPaths
    this.#hasNewTargets = true
    this.look()
  }

  /** Forgets everything: another replica reports now. */
  clear(): void {
    this.#state = undefined
    this.#known = new Map()
    this.#deps.prober.setTargets([])
  }

  known(): ReadonlyMap<string, Enforcement> {
    return this.#known
  }

  look(): void {
    if (this.#running !== undefined) {
      this.#isStale = true
      return
    }
    this.#isStale = false
    this.#running = this.#round()
      .catch((error: unknown) =>
        this.#deps.onWarning(`the state of policies cannot be determined: ${errorText(error)}`),
      )
      .finally(() => {
        this.#running = undefined
        if (this.#isStale) this.look()
      })
  }

  async #round(): Promise<void> {
    const state = this.#state
    if (state === undefined) return
    const { mirror, prober, onChange } = this.#deps
    const sources = this.#deps
    if (this.#hasNewTargets) {
      this.#hasNewTargets = false
      this.#probes = withinAMinute(await runInTurns(probesWork(state, sources)))
      // Another replica may probe by now.
      if (this.#state !== undefined)
        await runInTurns(
          prober.setTargetsWork([...this.#probes.values()].flatMap(({ targets }) => targets)),
        )
    }
    const found = await runInTurns(
      enforcementWork(state, {
        objectOf: (key) => mirror.get(key),
        ofKind: (kind) => mirror.ofKind(kind),
        probesOf: (route) => this.#probes.get(route) ?? NO_PROBES,
        suspectKinds: sources.suspectKinds,
        isOwn: (object) => sources.isOwn(object),
        probeProblem: (target) => prober.problemOf(target),
        openPaths: this.#openPaths,
      }),
    )
    if (this.#state === undefined) return
    const before = this.#known
    const now = new Map([...found].map(([key, each]) => [key, kept(before.get(key), each)]))
    this.#known = now
    if (now.size !== before.size || [...now].some(([key, each]) => before.get(key) !== each))
      onChange(now, before)
  }
}

type ProbesByRoute = ReadonlyMap<MeshRoute, RouteProbes>

const NO_PROBES: RouteProbes = { targets: [], needed: 0 }

/** Returns the probes of all routes that are not closed. */
function* probesWork({ wanted }: KeeperState<Wanted>, sources: ProbeSources): Work<ProbesByRoute> {
  const probes = new Map<MeshRoute, RouteProbes>()
  for (const { route, problems } of wanted.routes) {
    if (problems.length === 0) probes.set(route, probeTargets(route, sources))
    yield
  }
  return probes
}

/** Returns the previous object if it says the same. */
const kept = (before: Enforcement | undefined, now: Enforcement): Enforcement =>
  before !== undefined && before.reason === now.reason && before.message === now.message
    ? before
    : now

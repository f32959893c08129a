// Keeps objects in the API server: applies what is wanted, in the replica that holds the Lease, and removes what it once
// applied and is no longer wanted. Objects of others are never changed.

import { errorText } from '../../../kit/errors.js'
import { runInTurns, type Work } from '../../../kit/turns.js'
import type { JsonObject } from '../../../model/json.js'
import type { GatewayName } from '../../../model/status.js'
import { type Applier, metadataText } from './applier.js'
import { pauseAskedFor } from './client.js'
import type { ObjectMirror } from './mirror.js'
import {
  contentOf,
  labelOf,
  objectName,
  type WantedObject,
  writtenVersion,
} from './wanted-object.js'

/** What the keeper needs to know of what is wanted. */
export interface WantedObjects {
  readonly objects: ReadonlyMap<string, WantedObject>
  /** Keys of objects that stay as they are, if they exist. */
  readonly untouched?: ReadonlySet<string>
}

/** What a keeper needs. */
export interface ObjectKeeperDeps<Input extends KeeperInput, Wanted extends WantedObjects> {
  readonly applier: Applier
  readonly mirror: ObjectMirror
  /** Whether the mirror has only the objects with the label: others are then looked for before the first apply. */
  readonly mirrorsOwnOnly?: true
  /** The kinds that it applies, in their order. */
  readonly kinds: readonly { readonly kind: string }[]
  /** Label of the objects that this Gatehouse has applied, and its value. */
  readonly label: readonly [name: string, value: string]
  /** What the objects are, for the log. */
  readonly subject: string
  readonly wantedWork: (input: Input) => Work<Wanted>
  /** Returns a Gateway as last received. */
  readonly gatewayOf: (name: GatewayName) => JsonObject | undefined
  /** Whether this replica may write. */
  readonly mayWrite: () => boolean
  /** Called after each round. */
  readonly onRound: (state: KeeperState<Wanted>) => void
  /** Logs a sentence. */
  readonly onWarning: (message: string) => void
}

/** What the keeper is to do. */
export interface KeeperInput {
  /** Whether all resources could be read: else something may be missing, and nothing is removed. */
  readonly isWhole: boolean
}

/** What the keeper knows after a round. */
export interface KeeperState<Wanted> {
  readonly wanted: Wanted
  /** Why an object is not in the API server as it is wanted, by its key. */
  readonly problems: ReadonlyMap<string, string>
}

/** Pause in milliseconds after an event. */
const QUIET = 50
/** Pause in milliseconds after a round that failed as a whole. */
const RETRY = 5_000
/** Calls of the API server at once. */
const AT_ONCE = 4

/** Controller of a set of objects: each round compares what is wanted with what is there. */
export class ObjectKeeper<Input extends KeeperInput, Wanted extends WantedObjects> {
  readonly #deps: ObjectKeeperDeps<Input, Wanted>
  #input: Input | undefined
  /** What was applied last, by key. */
  readonly #applied = new Map<string, Applied>()
  readonly #retries = new ApplyRetries()
  #timer: NodeJS.Timeout | undefined
  /** When the timer ends, by performance.now(). */
  #due = 0
  #running: Promise<void> | undefined
  #isStale = false
  #closed = false

  constructor(deps: ObjectKeeperDeps<Input, Wanted>) {
    this.#deps = deps
  }

  update(input: Input): void {
    this.#input = input
    this.look()
  }

  /** Begins a round soon: something may have changed. */
  look(pause = QUIET): void {
    if (this.#closed) return
    if (this.#running !== undefined) {
      this.#isStale = true
      return
    }
    const due = performance.now() + pause
    if (this.#timer !== undefined && this.#due <= due) return
    clearTimeout(this.#timer)
    this.#due = due
    this.#timer = setTimeout(() => this.#begin(), pause)
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    await this.#running
  }

  #begin(): void {
    this.#timer = undefined
    this.#isStale = false
    let pause: number | undefined
    this.#running = this.#round()
      .then(() => (pause = this.#retries.pause()))
      .catch((error: unknown) => {
        const { onWarning, subject } = this.#deps
        onWarning(`${subject} cannot be kept: ${errorText(error)}`)
        pause = RETRY
      })
      .then(() => {
        this.#running = undefined
        if (pause !== undefined) this.look(pause)
        if (this.#isStale) this.look()
      })
  }

  async #round(): Promise<void> {
    const { mirror, wantedWork, mayWrite, onRound } = this.#deps
    const input = this.#input
    if (input === undefined) return
    if (!mayWrite()) {
      // Whoever writes meanwhile may change anything.
      this.#applied.clear()
      this.#retries.clear()
      return
    }
    const wanted = await runInTurns(wantedWork(input))
    const [obstacle] = mirror.obstacles()
    if (obstacle !== undefined) {
      // An object that is not known yet may be that of another manager.
      const all = [...wanted.objects.keys()].map((key) => [key, obstacle] as const)
      onRound({ wanted, problems: new Map(all) })
      return
    }
    const problems = await this.#applyAll(wanted)
    if (input.isWhole) await this.#removeOthers(wanted)
    onRound({ wanted, problems })
  }

  /** Applies kind by kind. Resolves to the problems. */
  async #applyAll({ objects }: Wanted): Promise<Map<string, string>> {
    const problems = new Map<string, string>()
    for (const { kind } of this.#deps.kinds) {
      const all = [...objects.values()].filter(({ manifest }) => manifest.kind === kind)
      await eachOf(all, async (object) => {
        const problem = await this.#apply(object)
        if (problem !== undefined) problems.set(object.key, problem)
      })
    }
    return problems
  }

  /** Resolves to why it is not there as it is wanted. */
  async #apply(object: WantedObject): Promise<string | undefined> {
    const { label, mayWrite, onWarning } = this.#deps
    if (!mayWrite() || this.#closed) return undefined
    const content = contentOf(object, label, (owner) => this.#ownerOf(owner))
    const text = JSON.stringify(content)
    const known = this.#foreignIn(object) ?? this.#retries.waiting(object.key, text)
    if (known !== undefined) return known
    try {
      const problem = await this.#tryToApply(object, content, text)
      if (problem === undefined) this.#retries.succeeded(object.key)
      else this.#retries.failed(object.key, text, problem)
      if (problem !== undefined) onWarning(problem)
      return problem
    } catch (error) {
      const problem = `${objectName(object)} cannot be applied: ${errorText(error)}`
      this.#retries.failed(object.key, text, problem, pauseAskedFor(error))
      onWarning(problem)
      return problem
    }
  }

  /** Returns why it cannot be applied if the mirror has another manager's object of its name. */
  #foreignIn(object: WantedObject): string | undefined {
    const there = this.#deps.mirror.get(object.key)
    const problem = there && this.#foreignProblem(object, there)
    if (problem !== undefined) this.#deps.onWarning(problem)
    return problem
  }

  #foreignProblem(object: WantedObject, there: JsonObject): string | undefined {
    const [name, value] = this.#deps.label
    return labelOf(there, name) === value
      ? undefined
      : `${objectName(object)} exists already, and this Gatehouse did not create it: delete or rename it`
  }

  /** Resolves to why it is not applied: another manager's object has its name. */
  async #tryToApply(
    object: WantedObject,
    content: JsonObject,
    text: string,
  ): Promise<string | undefined> {
    const { applier, mirror, mirrorsOwnOnly } = this.#deps
    const { key, manifest } = object
    const place = { kind: manifest.kind, ...manifest.metadata }
    const there = mirror.get(key) ?? (mirrorsOwnOnly && (await applier.read(place)))
    const problem = there && this.#foreignProblem(object, there)
    if (problem !== undefined) return problem
    const before = this.#applied.get(key)
    const isThere = there !== undefined && before?.text === text
    if (isThere && before.version === writtenVersion(there)) return undefined
    const answer = await applier.apply(place, content)
    this.#applied.set(key, { text, version: writtenVersion(answer) })
    return undefined
  }

  #ownerOf(gateway: GatewayName): JsonObject | undefined {
    const object = this.#deps.gatewayOf(gateway)
    const uid = object && metadataText(object, 'uid')
    return uid === undefined
      ? undefined
      : {
          apiVersion: 'gateway.networking.k8s.io/v1',
          kind: 'Gateway',
          name: gateway.name,
          uid,
        }
  }

  async #removeOthers(wanted: Wanted): Promise<void> {
    const gone = this.#gone(wanted)
    const names = new Set(gone.map(({ key }) => key))
    this.#retries.keep((key) => wanted.objects.has(key) || names.has(key))
    await eachOf(gone, async ({ kind, key, object }) => {
      const { applier, mayWrite, onWarning } = this.#deps
      if (!mayWrite() || this.#closed) return
      if (this.#retries.waiting(key, REMOVAL) !== undefined) return
      const [namespace = '', name = '', uid = ''] = ['namespace', 'name', 'uid'].map((member) =>
        metadataText(object, member),
      )
      try {
        await applier.remove({ kind, namespace, name }, uid)
        this.#retries.succeeded(key)
        this.#applied.delete(key)
      } catch (error) {
        const problem = `${kind} ${namespace}/${name} cannot be removed: ${errorText(error)}`
        this.#retries.failed(key, REMOVAL, problem, pauseAskedFor(error))
        onWarning(problem)
      }
    })
  }

  /** Returns the objects that it once applied and that are no longer wanted. */
  #gone({ objects, untouched }: Wanted): readonly Gone[] {
    const { mirror, kinds, label } = this.#deps
    const [name, value] = label
    const isWanted = (key: string) => objects.has(key) || untouched?.has(key) === true
    return kinds.flatMap(({ kind }) =>
      [...mirror.ofKind(kind)].flatMap(([key, object]) =>
        !isWanted(key) && labelOf(object, name) === value ? [{ kind, key, object }] : [],
      ),
    )
  }
}

/** Stands for the content of an object that is to be removed, in the retries. */
const REMOVAL = ''

interface Gone {
  readonly kind: string
  readonly key: string
  readonly object: JsonObject
}

interface Applied {
  readonly text: string
  readonly version: string
}

/** Runs the work for each element, some at once. Rejects with the first error, when all have ended. */
async function eachOf<Element>(
  all: readonly Element[],
  work: (element: Element) => Promise<void>,
): Promise<void> {
  const waiting = [...all]
  const worker = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await work(next)
  }
  const results = await Promise.allSettled(Array.from({ length: AT_ONCE }, worker))
  const failed = results.find((result) => result.status === 'rejected')
  if (failed !== undefined) throw failed.reason
}

// Per-object exponential backoff for objects that could not be applied, so that those of one namespace do not delay the others.

/** Pauses in milliseconds. */
const FIRST_PAUSE = 1_000
const LONGEST_PAUSE = 30_000

interface Failure {
  /** The content that failed; another one is tried at once. */
  readonly text: string
  readonly problem: string
  readonly milliseconds: number
  /** By performance.now(). */
  readonly until: number
}

/** The pauses of objects that could not be applied. */
export class ApplyRetries {
  readonly #failures = new Map<string, Failure>()

  /** Returns why the object could not be applied if its pause is not over; undefined: try now. */
  waiting(key: string, text: string): string | undefined {
    const failure = this.#failures.get(key)
    return failure?.text === text && failure.until > performance.now() ? failure.problem : undefined
  }

  /**
   * Records a failure. The next pause is twice as long.
   * @param atLeast shortest pause that the API server asks for, in milliseconds.
   */
  failed(key: string, text: string, problem: string, atLeast = 0): void {
    const before = this.#failures.get(key)
    const isSame = before?.text === text
    const milliseconds = isSame ? Math.min(before.milliseconds * 2, LONGEST_PAUSE) : FIRST_PAUSE
    const until = performance.now() + Math.max(milliseconds, atLeast)
    this.#failures.set(key, { text, problem, milliseconds, until })
  }

  succeeded(key: string): void {
    this.#failures.delete(key)
  }

  /** Forgets the objects that are neither wanted nor to be removed. */
  keep(isOf: (key: string) => boolean): void {
    for (const key of this.#failures.keys()) if (!isOf(key)) this.#failures.delete(key)
  }

  clear(): void {
    this.#failures.clear()
  }

  /** Returns the milliseconds to the next try; undefined: nothing has failed. */
  pause(): number | undefined {
    const ends = [...this.#failures.values()].map(({ until }) => until)
    return ends.length === 0 ? undefined : Math.max(0, Math.min(...ends) - performance.now())
  }
}

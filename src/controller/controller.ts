// Keeps the objects that a mesh needs in its API server: applies what is wanted, in the replica that holds the Lease, and
// removes what it once applied and is no longer wanted. Objects of others are never changed.

import { errorText } from '../errors.js'
import { isJsonObject, type Json, type JsonObject } from '../ir/json.js'
import type { MeshRoute } from '../ir/mesh-route.js'
import type { GatewayName } from '../ir/status.js'
import { type Applier, metadataText } from '../resources/kubernetes/applier.js'
import type { ObjectMirror } from '../resources/kubernetes/mirror.js'
import { runInTurns } from '../turns.js'
import type { MeshKind } from './mesh-kind.js'
import { type MeshExport, type Wanted, type WantedObject, wantedWork } from './wanted.js'

export interface ControllerDeps {
  readonly applier: Applier
  readonly mirror: ObjectMirror
  readonly mesh: MeshExport
  /** Kinds that it applies, in their order. */
  readonly kinds: readonly MeshKind[]
  /** Label of the objects that this Gatehouse has applied, and its value. */
  readonly label: readonly [name: string, value: string]
  /** Returns a Gateway as last received. */
  readonly gatewayOf: (name: GatewayName) => JsonObject | undefined
  /** Whether this replica may write. */
  readonly mayWrite: () => boolean
  /** Called after each round. */
  readonly onRound: (state: ControllerState) => void
  /** Logs a sentence. */
  readonly onWarning: (message: string) => void
}

/** What the controller is to do. */
export interface ControllerInput {
  readonly routes: readonly MeshRoute[]
  /** Whether all resources could be read: else a policy may be missing, and nothing is removed. */
  readonly isWhole: boolean
}

/** What the controller knows after a round. */
export interface ControllerState {
  readonly wanted: Wanted
  /** Why an object is not in the API server as it is wanted, by its key. */
  readonly problems: ReadonlyMap<string, string>
}

/** Pauses in milliseconds: after an event, and after a failure. */
const QUIET = 50
const RETRY = 5_000
/** Calls of the API server at once. */
const AT_ONCE = 4

export class MeshController {
  readonly #deps: ControllerDeps
  #input: ControllerInput | undefined
  #state: ControllerState = { wanted: { objects: new Map(), routes: [] }, problems: new Map() }
  /** What was applied last, by key. */
  readonly #applied = new Map<string, Applied>()
  #timer: NodeJS.Timeout | undefined
  /** When the timer ends, by performance.now(). */
  #due = 0
  #running: Promise<void> | undefined
  #isStale = false
  #closed = false

  constructor(deps: ControllerDeps) {
    this.#deps = deps
  }

  update(input: ControllerInput): void {
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
    let hasFailed = false
    this.#running = this.#round()
      .catch((error: unknown) => {
        this.#deps.onWarning(`the objects of the mesh cannot be kept: ${errorText(error)}`)
        hasFailed = true
      })
      .finally(() => {
        this.#running = undefined
        if (hasFailed || this.#state.problems.size > 0) this.look(RETRY)
        if (this.#isStale) this.look()
      })
  }

  async #round(): Promise<void> {
    const { mirror, mesh, mayWrite, onRound } = this.#deps
    const input = this.#input
    if (input === undefined) return
    if (!mayWrite()) {
      // Whoever writes meanwhile may change anything.
      this.#applied.clear()
      return
    }
    const wanted = await runInTurns(wantedWork(input.routes, mesh))
    const [obstacle] = mirror.obstacles()
    if (obstacle === undefined) {
      const problems = await this.#applyAll(wanted)
      if (input.isWhole) await this.#removeOthers(wanted)
      this.#state = { wanted, problems }
    } else {
      // An object that is not known yet may be that of another manager.
      const all = [...wanted.objects.keys()].map((key) => [key, obstacle] as const)
      this.#state = { wanted, problems: new Map(all) }
    }
    onRound(this.#state)
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

  /** Resolves to why it could not be applied. */
  async #apply(object: WantedObject): Promise<string | undefined> {
    const { mayWrite, onWarning } = this.#deps
    const problem = mayWrite() && !this.#closed ? await this.#tryToApply(object) : undefined
    if (problem !== undefined) onWarning(problem)
    return problem
  }

  async #tryToApply(object: WantedObject): Promise<string | undefined> {
    const { applier, mirror, label } = this.#deps
    const { key, manifest } = object
    const there = mirror.get(key)
    const [name, value] = label
    if (there !== undefined && labelOf(there, name) !== value)
      return `${nameOf(object)} exists already, and this Gatehouse did not create it: delete or rename it`
    const content = contentOf(object, label, (owner) => this.#ownerOf(owner))
    const text = JSON.stringify(content)
    const before = this.#applied.get(key)
    if (there !== undefined && before?.text === text && before.version === versionOf(there))
      return undefined
    try {
      const answer = await applier.apply({ kind: manifest.kind, ...manifest.metadata }, content)
      this.#applied.set(key, { text, version: versionOf(answer) })
      return undefined
    } catch (error) {
      return `${nameOf(object)} cannot be applied: ${errorText(error)}`
    }
  }

  #ownerOf(gateway: GatewayName): JsonObject | undefined {
    const object = this.#deps.gatewayOf(gateway)
    const uid = object && metadataText(object, 'uid')
    return uid === undefined
      ? undefined
      : {
          ...{ apiVersion: 'gateway.networking.k8s.io/v1', kind: 'Gateway' },
          ...{ name: gateway.name, uid },
        }
  }

  async #removeOthers({ objects }: Wanted): Promise<void> {
    const { applier, mirror, kinds, label, mayWrite } = this.#deps
    const [name, value] = label
    const gone = kinds.flatMap(({ kind }) =>
      [...mirror.ofKind(kind)].flatMap(([key, object]) =>
        !objects.has(key) && labelOf(object, name) === value ? [{ kind, key, object }] : [],
      ),
    )
    await eachOf(gone, async ({ kind, key, object }) => {
      if (!mayWrite() || this.#closed) return
      const [, namespace = '', own = ''] = key.split('/')
      await applier.remove({ kind, namespace, name: own }, metadataText(object, 'uid') ?? '')
      this.#applied.delete(key)
    })
  }
}

interface Applied {
  readonly text: string
  readonly version: string
}

const nameOf = ({ manifest: { kind, metadata } }: WantedObject): string =>
  `${kind} ${metadata.namespace}/${metadata.name}`

function contentOf(
  { manifest, owners }: WantedObject,
  [name, value]: ControllerDeps['label'],
  ownerOf: (gateway: GatewayName) => JsonObject | undefined,
): JsonObject {
  const { metadata } = manifest
  const references = owners.flatMap((owner) => ownerOf(owner) ?? [])
  return {
    ...(manifest as unknown as JsonObject),
    metadata: {
      ...metadata,
      labels: { ...metadata.labels, [name]: value },
      ...(references.length === 0 ? {} : { ownerReferences: references }),
    },
  }
}

function labelOf({ metadata }: JsonObject, name: string): Json | undefined {
  const labels = isJsonObject(metadata) ? metadata['labels'] : undefined
  return isJsonObject(labels) ? labels[name] : undefined
}

/** Returns what changes with each write of the object, except of its status where it has a generation. */
function versionOf(object: JsonObject): string {
  const { metadata } = object
  const generation = isJsonObject(metadata) ? metadata['generation'] : undefined
  return typeof generation === 'number'
    ? `${metadataText(object, 'uid') ?? ''}/${generation}`
    : (metadataText(object, 'resourceVersion') ?? '')
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

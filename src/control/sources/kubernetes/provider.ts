// Watches the API server and reports all resources at every change. The state is complete only when every kind has been
// listed once (decision 27), so no route is open because its policy is missing.

import { runInTurns } from '../../../kit/turns.js'
import type { JsonObject } from '../../../model/json.js'
import { debounce } from '../../schema/decode/debounce.js'
import { holdBackNewRoutes } from '../../schema/decode/quarantine.js'
import { collectResources } from '../../schema/decode/resource-set.js'
import { type Kind, kindsOf } from '../../schema/kinds/kinds.js'
import {
  KUBERNETES,
  type Problem,
  type ProviderState,
  type ResourceProvider,
} from '../../schema/kinds/resources.js'
import type { KubernetesClient } from './client.js'
import { createObjectStore, objectKey, type ObjectStore } from './objects.js'
import {
  createFindReferences,
  type FindReferences,
  MOST_SECRETS,
  referenceKey,
  type References,
} from './references.js'
import { type Reflector, type ReflectorScope, startReflector } from './reflector.js'

/** What the provider is created with. */
export interface KubernetesProviderOptions {
  readonly client: KubernetesClient
  /** {policy_api_group} of the specification. */
  readonly apiGroup: string
  /** The namespaces to read; empty for all. */
  readonly namespaces: readonly string[]
  /** Called with a resourceKey() and the kind when at most the status of an object has changed. */
  onStatus(key: string, kind: string): void
  /** Called with a resourceKey() when an object is new or has changed. */
  onObject(key: string): void
}

const DEBOUNCE = { quiet: 30, maxWait: 300 }
/** Milliseconds to wait for the first lists, and for a single object that a new reference names. */
const PATIENCE = 2_000
const OBJECT_PATIENCE = 1_000
/** Kinds whose objects are read one by one, when something refers to them. */
const ON_DEMAND = new Set(['Secret', 'ConfigMap'])

/** Reads resources from the API server. */
export interface KubernetesProvider extends ResourceProvider {
  /** Returns an object as received from the API server, by resourceKey(), for writing its status. */
  raw(key: string): JsonObject | undefined
  /** As ObjectStore.adopt. */
  adopt(key: string, basis: JsonObject, answer: JsonObject): void
}

/** Creates a provider that has not started. */
export const createKubernetesProvider = (options: KubernetesProviderOptions): KubernetesProvider =>
  new Provider(options)

class Provider implements KubernetesProvider {
  readonly #options: KubernetesProviderOptions
  readonly #kinds: readonly Kind[]
  readonly #findReferences: FindReferences
  readonly #store: ObjectStore
  readonly #lists = new Map<string, Watched>()
  readonly #objects = new Map<string, Watched>()
  readonly #changed = debounce(() => void this.#report(), DEBOUNCE)
  #onChange: (state: ProviderState) => void = () => undefined
  #state: ProviderState | undefined
  #patientUntil = 0
  #patience: NodeJS.Timeout | undefined
  #closed = false
  #running: Promise<void> = Promise.resolve()
  /** Whether a report waits for the running one. */
  #isDue = false

  constructor(options: KubernetesProviderOptions) {
    this.#options = options
    this.#kinds = kindsOf(options.apiGroup)
    this.#findReferences = createFindReferences(`${options.apiGroup}/gatehouse`)
    this.#store = createObjectStore(this.#kinds)
  }

  start(listener: (state: ProviderState) => void): Promise<void> {
    return new Promise((resolve) => {
      this.#onChange = (now) => {
        listener(now)
        resolve()
      }
      this.#waitFor(PATIENCE)
      for (const scope of listScopes(this.#kinds, this.#options.namespaces))
        this.#lists.set(listKey(scope), this.#watch(scope))
    })
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#changed.cancel()
    clearTimeout(this.#patience)
    for (const { reflector } of this.#watched()) reflector.close()
    await this.#running
  }

  raw(key: string): JsonObject | undefined {
    return this.#store.raw(key)
  }

  adopt(key: string, basis: JsonObject, answer: JsonObject): void {
    this.#store.adopt(key, basis, answer)
  }

  #watched(): readonly Watched[] {
    return [...this.#lists.values(), ...this.#objects.values()]
  }

  #watch(scope: ReflectorScope): Watched {
    const changed = (): void => this.#changed.call()
    const reflector = startReflector(this.#options.client, scope, {
      put: (object, { apiVersion }) => {
        const key = objectKey(object, scope.kind)
        if (!this.#store.put(object, scope.kind, apiVersion))
          return this.#options.onStatus(key, scope.kind.kind)
        this.#options.onObject(key)
        changed()
      },
      remove: (object) => {
        if (this.#store.remove(object, scope.kind)) changed()
      },
      changed,
    })
    return { scope, reflector }
  }

  #followReferences({ objects }: References): void {
    const wanted = new Map(objects.map((each) => [referenceKey(each), each]))
    for (const [key, { scope, reflector }] of this.#objects)
      if (!wanted.has(key)) {
        reflector.close()
        this.#objects.delete(key)
        this.#store.remove({ metadata: { ...scopeNames(scope) } }, scope.kind)
      }
    for (const [key, { kind, namespace, name }] of wanted)
      if (!this.#objects.has(key)) {
        const scope = {
          kind: kindNamed(this.#kinds, kind),
          namespace,
          name,
          isOptional: true,
        } as const
        this.#objects.set(key, this.#watch(scope))
        this.#waitFor(OBJECT_PATIENCE)
      }
  }

  #waitFor(milliseconds: number): void {
    this.#patientUntil = Math.max(this.#patientUntil, performance.now() + milliseconds)
    clearTimeout(this.#patience)
    const left = this.#patientUntil - performance.now()
    this.#patience = setTimeout(() => void this.#report(), left + 1)
  }

  /** Whether to wait a moment longer: what has not been listed yet is no problem until then. */
  #isBeginning(): boolean {
    return (
      performance.now() < this.#patientUntil &&
      this.#watched().some(({ reflector }) => !reflector.synced() && !reflector.problem())
    )
  }

  /** Reports one state at a time, in order; one more report waits at most. */
  #report(): Promise<void> {
    if (this.#isDue) return this.#running
    this.#isDue = true
    this.#running = this.#running.then(() => {
      this.#isDue = false
      return this.#reportNow()
    })
    return this.#running
  }

  async #reportNow(): Promise<void> {
    if (this.#closed || this.#isBeginning()) return
    // As of the objects that are collected: a list that ends meanwhile may have a policy that they lack.
    const views = new Map(this.#watched().map((each) => [each, viewOf(each)]))
    const collected = await runInTurns(this.#store.collected())
    const finding = this.#findReferences(collected.resources)
    const references = await runInTurns(finding)
    if (this.#closed) return
    this.#followReferences(references)
    if (this.#isBeginning()) return
    const watched = this.#watched().map((each) => views.get(each) ?? viewOf(each, false))
    const wasComplete = this.#state?.complete === true
    const complete = wasComplete || watched.every(({ synced }) => synced)
    const read = {
      resources: collected.resources,
      problems: [
        ...watched.flatMap(problemOf),
        ...collected.problems,
        ...tooManySecrets(references),
      ],
      undecoded: [...collected.undecoded, ...watched.flatMap(unreadPolicies)],
      complete,
    }
    const previous = wasComplete && this.#state ? this.#state : NOTHING_YET
    const state = complete ? await runInTurns(holdBackNewRoutes(read, previous)) : read
    if (this.#closed) return
    this.#state = state
    this.#onChange(state)
  }
}

interface Watched {
  readonly scope: ReflectorScope
  readonly reflector: Reflector
}

/** What a reflector said when the collecting began. */
interface View {
  readonly scope: ReflectorScope
  readonly synced: boolean
  readonly problem: string | undefined
}

/** synced: false for a reflector that began after the collecting, as nothing of its objects was collected. */
const viewOf = ({ scope, reflector }: Watched, synced = reflector.synced()): View => ({
  scope,
  synced,
  problem: reflector.problem(),
})

const NOTHING_YET: ProviderState = {
  resources: collectResources([]).resources,
  problems: [],
  complete: true,
}

const listScopes = (
  kinds: readonly Kind[],
  namespaces: readonly string[],
): readonly ReflectorScope[] =>
  kinds
    .filter(({ kind }) => !ON_DEMAND.has(kind))
    .flatMap((kind): readonly ReflectorScope[] => {
      if (namespaces.length === 0) return [{ kind }]
      // Only the namespaces that are read, by name: a role with resourceNames suffices.
      if (kind.kind === 'Namespace') return namespaces.map((name) => ({ kind, name }))
      return kind.clusterScoped === true
        ? [{ kind }]
        : namespaces.map((namespace) => ({ kind, namespace }))
    })

const listKey = ({ kind, namespace = '', name = '' }: ReflectorScope): string =>
  `${kind.kind}/${namespace}/${name}`

const scopeNames = ({ namespace = '', name = '' }: ReflectorScope) => ({ namespace, name })

function kindNamed(kinds: readonly Kind[], name: string): Kind {
  const kind = kinds.find((each) => each.kind === name)
  if (kind === undefined) throw new Error(`there is no kind ${name}`)
  return kind
}

/** Returns a problem for each Gateway with too many Secrets. The Gateway stays in force with the first of them. */
const tooManySecrets = ({ gatewaysBeyond }: References): readonly Problem[] =>
  gatewaysBeyond.map((gateway) => ({
    source: KUBERNETES,
    message: `it names more than ${MOST_SECRETS} Secrets; only the first ${MOST_SECRETS} are read`,
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'Gateway',
    ...gateway,
    stays: true,
  }))

/** Returns a problem if ProxyPolicies cannot be read: the policy of a new route may be among those missed. */
const unreadPolicies = ({ scope, problem }: View): readonly Problem[] =>
  scope.kind.kind === 'ProxyPolicy' && problem !== undefined
    ? [
        {
          source: KUBERNETES,
          message: 'cannot be read',
          kind: scope.kind.kind,
          ...(scope.namespace !== undefined && { namespace: scope.namespace }),
        },
      ]
    : []

function problemOf({ scope, synced, problem }: View): readonly Problem[] {
  const { kind, namespace, name } = scope
  const reason = problem ?? (synced ? undefined : 'it has not been listed yet')
  if (reason === undefined) return []
  const where = namespace === undefined ? '' : ` in namespace ${namespace}`
  const what = name === undefined ? `${kind.kind} cannot be read${where}` : `cannot be read`
  return [
    {
      source: KUBERNETES,
      message: `${what}: ${reason}`,
      ...(name === undefined
        ? {}
        : { apiVersion: 'v1', kind: kind.kind, namespace: namespace ?? '', name }),
    },
  ]
}

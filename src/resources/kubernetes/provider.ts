// The API server → the resources in it, whole, at every change. Nothing is complete before every kind has been listed
// once (decision 27), so that no route is open for want of its policy.

import type { JsonObject } from '../../ir/json.js'
import { debounce } from '../decode/debounce.js'
import { holdBackNewRoutes } from '../decode/quarantine.js'
import { collectResources } from '../decode/resource-set.js'
import { kindsOf, type Kind } from '../kinds/kinds.js'
import {
  KUBERNETES,
  type Problem,
  type ResourceProvider,
  type ProviderState,
  type Resources,
} from '../kinds/resources.js'
import type { KubernetesClient } from './client.js'
import { createObjectStore, objectKey } from './objects.js'
import { gatewaysBeyond, MOST_SECRETS, referencedObjects, referenceKey } from './references.js'
import { startReflector, type Reflector, type ReflectorScope } from './reflector.js'

export interface KubernetesProviderOptions {
  readonly client: KubernetesClient
  /** {policy_api_group} of the specification. */
  readonly apiGroup: string
  /** Empty: all. */
  readonly namespaces: readonly string[]
  /** Nothing of an object that is read has changed, but its status may have; by resourceKey(). */
  onStatus(key: string): void
}

const DEBOUNCE = { quiet: 30, maxWait: 300 }
/** Milliseconds for the first lists, and for a single object that something new refers to. */
const PATIENCE = 2_000
const OBJECT_PATIENCE = 1_000
/** Read one by one, where something refers to them. */
const ON_DEMAND = new Set(['Secret', 'ConfigMap'])

export interface KubernetesProvider extends ResourceProvider {
  /** An object as the API server has it, by resourceKey(): for its status. */
  raw(key: string): JsonObject | undefined
  /** As ObjectStore's. */
  adopt(key: string, basis: JsonObject, answer: JsonObject): void
}

export function createKubernetesProvider(options: KubernetesProviderOptions): KubernetesProvider {
  const kinds = kindsOf(options.apiGroup)
  const controllerName = `${options.apiGroup}/gatehouse`
  const store = createObjectStore(kinds)
  const lists = new Map<string, Watched>()
  const objects = new Map<string, Watched>()
  let onChange: (state: ProviderState) => void = () => undefined
  let state: ProviderState | undefined
  let patientUntil = 0
  let patience: NodeJS.Timeout | undefined
  let closed = false

  const watchScope = (scope: ReflectorScope): Watched => ({
    scope,
    reflector: startReflector(options.client, scope, {
      put: (object, { apiVersion }) => {
        if (store.put(object, scope.kind, apiVersion)) changed.call()
        else options.onStatus(objectKey(object, scope.kind))
      },
      remove: (object) => {
        if (store.remove(object, scope.kind)) changed.call()
      },
      changed: () => changed.call(),
    }),
  })
  const followReferences = (resources: Resources): void => {
    const found = referencedObjects(resources, controllerName)
    const wanted = new Map(found.map((each) => [referenceKey(each), each]))
    for (const [key, watched] of objects)
      if (!wanted.has(key)) {
        watched.reflector.close()
        objects.delete(key)
        store.remove({ metadata: { ...scopeNames(watched.scope) } }, watched.scope.kind)
      }
    for (const [key, { kind, namespace, name }] of wanted)
      if (!objects.has(key)) {
        const scope = { kind: kindNamed(kinds, kind), namespace, name, isOptional: true } as const
        objects.set(key, watchScope(scope))
        waitFor(OBJECT_PATIENCE)
      }
  }
  const waitFor = (milliseconds: number): void => {
    patientUntil = Math.max(patientUntil, performance.now() + milliseconds)
    clearTimeout(patience)
    patience = setTimeout(report, patientUntil - performance.now() + 1)
  }
  const report = (): void => {
    if (closed || isBeginning()) return
    const collected = collectResources(store.resources())
    followReferences(collected.resources)
    if (isBeginning()) return
    const watched = [...lists.values(), ...objects.values()]
    const unread = watched.flatMap(problemOf)
    const complete =
      state?.complete === true || watched.every(({ reflector }) => reflector.synced())
    const read = {
      resources: collected.resources,
      problems: [
        ...unread,
        ...store.problems(),
        ...collected.problems,
        ...tooManySecrets(collected.resources, controllerName),
      ],
      undecoded: [...store.undecoded(), ...[...lists.values()].flatMap(unreadPolicies)],
      complete,
    }
    state = complete
      ? holdBackNewRoutes(read, state?.complete === true ? state : NOTHING_YET)
      : read
    onChange(state)
  }
  const changed = debounce(report, DEBOUNCE)
  /** Nothing is wrong with what has not been listed yet, for a moment. */
  const isBeginning = (): boolean =>
    performance.now() < patientUntil &&
    [...lists.values(), ...objects.values()].some(
      ({ reflector }) => !reflector.synced() && !reflector.problem(),
    )

  return {
    start: (listener) =>
      new Promise((resolve) => {
        onChange = (now) => {
          listener(now)
          resolve()
        }
        waitFor(PATIENCE)
        for (const scope of listScopes(kinds, options.namespaces))
          lists.set(listKey(scope), watchScope(scope))
      }),
    close: () => {
      closed = true
      changed.cancel()
      clearTimeout(patience)
      for (const { reflector } of [...lists.values(), ...objects.values()]) reflector.close()
      return Promise.resolve()
    },
    raw: (key) => store.raw(key),
    adopt: (key, basis, answer) => store.adopt(key, basis, answer),
  }
}

interface Watched {
  readonly scope: ReflectorScope
  readonly reflector: Reflector
}

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
      // Those that are read, by their names: a role with resourceNames is enough.
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

/** The Gateway itself stays as it is: its first Secrets are read. */
const tooManySecrets = (resources: Resources, controllerName: string): readonly Problem[] =>
  gatewaysBeyond(resources, controllerName).map((gateway) => ({
    source: KUBERNETES,
    message: `its listeners name more than ${MOST_SECRETS} Secrets; only the first ${MOST_SECRETS} are read`,
    ...{ apiVersion: 'gateway.networking.k8s.io/v1', kind: 'Gateway', ...gateway, stays: true },
  }))

/** While they cannot be read, the policy of a new route may be among those that were missed. */
const unreadPolicies = ({ scope, reflector }: Watched): readonly Problem[] =>
  scope.kind.kind === 'ProxyPolicy' && reflector.problem() !== undefined
    ? [
        {
          source: KUBERNETES,
          message: 'cannot be read',
          kind: scope.kind.kind,
          ...(scope.namespace !== undefined && { namespace: scope.namespace }),
        },
      ]
    : []

function problemOf({ scope, reflector }: Watched): readonly Problem[] {
  const { kind, namespace, name } = scope
  const reason =
    reflector.problem() ?? (reflector.synced() ? undefined : 'it has not been listed yet')
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

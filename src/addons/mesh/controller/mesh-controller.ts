// Wires the controller of a mesh: what it reads, what it applies, and where it is stopped.

import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { callRules, tenancyOf } from '../../../control/fetch/tenancy.js'
import type { PipelineState } from '../../../control/publish/pipeline.js'
import { resourceKey } from '../../../control/schema/decode/resource-set.js'
import type { Resources } from '../../../control/schema/kinds/resources.js'
import { createApplier } from '../../../control/sources/kubernetes/applier.js'
import {
  type KubernetesClient,
  KubernetesError,
} from '../../../control/sources/kubernetes/client.js'
import { leaseOf, releaseLabel } from '../../../control/sources/kubernetes/lease-of.js'
import { startMirror } from '../../../control/sources/kubernetes/mirror.js'
import { ObjectKeeper } from '../../../control/sources/kubernetes/object-keeper.js'
import type { KubernetesProvider } from '../../../control/sources/kubernetes/provider.js'
import { labelOf } from '../../../control/sources/kubernetes/wanted-object.js'
import { errorText } from '../../../kit/errors.js'
import { memo } from '../../../kit/incremental/memo.js'
import { createProbeSigns, type ProbeSigns } from '../../../kit/probe-signs.js'
import { isJsonObject, type JsonObject } from '../../../model/json.js'
import type { MeshRoute } from '../../../model/mesh-route.js'
import type { GatewayName } from '../../../model/status.js'
import type { Settings } from '../../../ops/settings/settings.js'
import type { Enforcement } from './enforcement.js'
import { createEnforcementEvents } from './enforcement-events.js'
import { Enforcer, type EnforcerDeps } from './enforcer.js'
import { targetsOf } from './export-targets.js'
import { MESHES } from './meshes.js'
import {
  createOpenPaths,
  type OpenListener,
  type OpenPaths,
  type OtherRoute,
  pathTypeOf,
} from './open-paths.js'
import type { PathOrder } from './path-overlap.js'
import { probe } from './probe.js'
import { Prober } from './prober.js'
import { type MeshInput, remembering, type Wanted, wantedWork } from './wanted.js'

/** A running controller. */
export interface RunningController {
  onRun(state: PipelineState): void
  /** Looks at everything again: this replica may have gained the right to write. */
  look(): void
  /** Whether each policy is enforced, by NAMESPACE/NAME, as far as this replica reports it. */
  enforced(): ReadonlyMap<string, Enforcement>
  /** For the servers that answer probes. */
  readonly probes: ProbeSigns
  /** Calls a function with the secret of probes as soon as it is known, and when it has changed: workers answer probes. */
  followSecret(onSecret: (secret: Uint8Array) => void): void
  close(): Promise<void>
}

/** What the controller is started with. */
export interface MeshControllerDeps {
  readonly client: KubernetesClient
  readonly source: Pick<KubernetesProvider, 'raw'>
  readonly mayWrite: () => boolean
  /** Called when a result of enforced() has changed. */
  readonly onEnforced: () => void
  readonly onWarning: (message: string) => void
}

/** Returns undefined without a mesh. @throws {Error} for a person when the addresses in the flags do not fit. */
export function startMeshController(
  settings: Settings,
  deps: MeshControllerDeps,
): RunningController | undefined {
  if (settings.for === undefined || settings.for === 'envoy') return undefined
  const targets = targetsOf(settings)
  if (!targets.ok) throw new Error(targets.error)
  const { client, source, mayWrite, onWarning } = deps
  const { kinds, suspects, exportTo, pathOrder } = MESHES[settings.for]
  const mesh = remembering(exportTo(targets.value))
  const secret = startProbeSecret({ ...deps, ...probeSecretName(settings) })
  const probes = createProbeSigns(() => secret.current(), Date.now)
  const label = [`${settings.apiGroup}/controller`, releaseLabel(settings)] as const
  const read = [...new Set([...kinds, ...suspects])]
  const mirror = startMirror(client, read, settings.namespace, () => controller.look())
  const gatewayOf = (gateway: GatewayName) =>
    source.raw(resourceKey('Gateway', gateway.namespace, gateway.name))
  const { hasOneKey } = mesh
  const parts = { mirror, probes, gatewayOf, hasOneKey, suspects, label }
  const { enforcer, prober, events } = createEnforcer(settings, deps, parts)
  const openPathsOf = createOpenPathsOf(pathOrder)
  let state: PipelineState = {}
  const controller = new ObjectKeeper<MeshInput, Wanted>({
    mirror,
    kinds,
    label,
    mayWrite,
    onWarning,
    gatewayOf,
    applier: createApplier(client, kinds),
    subject: 'the objects of the mesh',
    wantedWork: ({ routes }) => wantedWork(routes, mesh),
    onRound: (round) => enforcer.take(round, openPathsOf(state, round.wanted)),
  })
  return {
    probes,
    followSecret: (onSecret) => secret.follow(onSecret),
    enforced: () => enforcer.known(),
    onRun: (now) => {
      const { provider, translation, failure } = now
      if (provider?.complete !== true || translation?.mesh === undefined) return
      if (failure !== undefined) return
      state = now
      controller.update({ routes: translation.mesh, isWhole: isWhole(provider) })
    },
    look: () => {
      if (!mayWrite()) {
        enforcer.clear()
        events.forget()
      }
      controller.look()
    },
    close: async () => {
      mirror.close()
      secret.close()
      await prober.close()
      await controller.close()
    },
  }
}

interface EnforcerParts extends Pick<EnforcerDeps, 'mirror' | 'gatewayOf' | 'hasOneKey'> {
  readonly probes: ProbeSigns
  /** Kinds whose objects may get in the way. */
  readonly suspects: readonly { readonly kind: string }[]
  /** The label of the controller's own objects, and its value. */
  readonly label: readonly [string, string]
}

function createEnforcer(
  settings: Settings,
  { client, source, onEnforced, onWarning }: MeshControllerDeps,
  { probes, suspects, label, ...parts }: EnforcerParts,
) {
  const events = createEnforcementEvents(settings, { client, source, onWarning })
  const rules = callRules(tenancyOf(settings), settings.allowAddress, () => [])
  const direct = new Set<string>()
  const prober = new Prober({
    probe: (target, signal) => probe(target, { signs: probes, rules, direct }, signal),
    onChange: () => enforcer.look(),
    wait: (milliseconds, signal) =>
      delay(milliseconds, undefined, { signal, ref: false }).catch(() => undefined),
    onWarning,
    now: () => performance.now(),
  })
  const enforcer = new Enforcer({
    ...parts,
    suspectKinds: suspects.map(({ kind }) => kind),
    isOwn: (object) => labelOf(object, label[0]) === label[1],
    prober,
    onWarning,
    onChange: (now, before) => {
      onEnforced()
      events.compare(now, before)
    },
  })
  return { enforcer, prober, events }
}

function probeSecretName({ environment }: Settings) {
  const { namespace, name } = leaseOf(environment)
  return { namespace, name: `${name}-probe` }
}

/** Kinds whose problems hide no policy, no route and no Gateway. */
const HARMLESS: ReadonlySet<string> = new Set(['Secret', 'ConfigMap', 'Service', 'EndpointSlice'])

const isWhole = ({ problems }: { readonly problems: readonly { kind?: string }[] }): boolean =>
  problems.every(({ kind = '' }) => HARMLESS.has(kind))

// Finds the HTTPRoutes of a mesh that no policy protects, in the state of the pipeline.

/** Returns a function that reuses its last result while the routes are the same. */
function createOpenPathsOf(order: PathOrder): (state: PipelineState, wanted: Wanted) => OpenPaths {
  const otherOf = memo(otherRoute)
  let last: { readonly from: readonly unknown[]; readonly paths: OpenPaths } | undefined
  return ({ provider, translation }, { objects }) => {
    const httpRoutes = provider?.resources.httpRoutes ?? []
    const mesh = translation?.mesh ?? []
    const gateways = provider?.resources.gateways ?? []
    const from = [httpRoutes, mesh, gateways]
    if (last !== undefined && from.every((each, index) => each === last?.from[index]))
      return last.paths
    const closed = new Set(mesh.filter(isClosed).map(nameKey))
    const others = function* (): Iterator<OtherRoute> {
      for (const route of httpRoutes) {
        const key = nameKey(route.metadata)
        if (!closed.has(key) && !objects.has(`HTTPRoute/${key}`)) yield otherOf(route)
      }
    }
    const created = new Map(
      [...httpRoutes].map(({ metadata }) => [nameKey(metadata), metadata.creationTimestamp]),
    )
    const paths = createOpenPaths(
      { [Symbol.iterator]: others },
      {
        order,
        listenersOf: listenersIn(gateways),
        createdOf: (route) => created.get(nameKey(route)),
      },
    )
    last = { from, paths }
    return paths
  }
}

const nameKey = ({ namespace, name }: { readonly namespace: string; readonly name: string }) =>
  `${namespace}/${name}`

/** Whether something other than policies of mode Audit decides about its requests. */
const isClosed = ({ authz, isGuarded, isRefused }: MeshRoute): boolean =>
  isRefused === true || isGuarded || (authz !== undefined && authz.isAudited !== true)

function listenersIn(
  gateways: Resources['gateways'],
): (gateway: GatewayName) => readonly OpenListener[] {
  const byName = new Map([...gateways].map((each) => [nameKey(each.metadata), each.spec]))
  return (gateway) => byName.get(nameKey(gateway))?.listeners ?? []
}

type HttpRouteResource = Resources['httpRoutes'][number]

const otherRoute = ({ metadata, spec }: HttpRouteResource): OtherRoute => ({
  namespace: metadata.namespace,
  name: metadata.name,
  created: metadata.creationTimestamp,
  parents: spec.parentRefs,
  hostnames: spec.hostnames,
  paths: spec.rules.flatMap(({ matches }) =>
    matches.length === 0
      ? [{ path: '/', type: 'prefix', isNarrower: false }]
      : matches.map(({ path, headers, queryParams, method }) => ({
          path: path.value,
          type: pathTypeOf(path.type),
          isNarrower: headers.length + queryParams.length > 0 || method !== undefined,
        })),
  ),
})

// Keeps the secret of probes in a Secret beside the Lease, so that each replica can answer what another has asked. The
// replica that holds the Lease creates it.

/** The secret as last read. */
export interface ProbeSecret {
  /** Returns undefined until it has been read once. */
  current(): Uint8Array | undefined
  /** Calls a function with the secret as soon as it is known, and when it has changed. */
  follow(onSecret: (secret: Uint8Array) => void): void
  close(): void
}

/** What the secret is read with. */
export interface ProbeSecretOptions {
  readonly client: KubernetesClient
  readonly namespace: string
  readonly name: string
  readonly mayWrite: () => boolean
  readonly onWarning: (message: string) => void
}

/** Member of the Secret's data. */
const MEMBER = 'key'
const BYTES = 32
/** Pauses in milliseconds: until it is known, and before it is read again. */
const SOON = 1_000
const AGAIN = 30_000

/** Reads the secret, again and again, and creates it if it is missing. */
export function startProbeSecret(options: ProbeSecretOptions): ProbeSecret {
  const { client, namespace, name, mayWrite, onWarning } = options
  const list = `/api/v1/namespaces/${encodeURIComponent(namespace)}/secrets`
  let secret: Uint8Array | undefined
  let timer: NodeJS.Timeout | undefined
  let isClosed = false
  let tell = (_secret: Uint8Array): void => undefined
  const look = async (): Promise<void> => {
    try {
      const found = await read(client, `${list}/${encodeURIComponent(name)}`)
      if (found === undefined && mayWrite())
        await client.call('POST', list, newSecret(options, secret ?? randomBytes(BYTES)))
      if (found !== undefined && (secret === undefined || !secretsEqual(found, secret))) {
        secret = found
        tell(found)
      }
    } catch (error) {
      const isRace = error instanceof KubernetesError && error.status === 409
      if (!isRace) onWarning(`the Secret for probes cannot be read or created: ${errorText(error)}`)
    }
    if (!isClosed) timer = setTimeout(() => void look(), secret === undefined ? SOON : AGAIN)
  }
  void look()
  return {
    current: () => secret,
    follow: (onSecret) => {
      tell = onSecret
      if (secret !== undefined) onSecret(secret)
    },
    close: () => {
      isClosed = true
      clearTimeout(timer)
    },
  }
}

const secretsEqual = (one: Uint8Array, other: Uint8Array): boolean =>
  Buffer.compare(one, other) === 0

async function read(client: KubernetesClient, path: string): Promise<Uint8Array | undefined> {
  try {
    const { data } = await client.call('GET', path)
    const text = isJsonObject(data) ? data[MEMBER] : undefined
    const bytes = Buffer.from(typeof text === 'string' ? text : '', 'base64')
    if (bytes.length < BYTES) throw new Error(`it has no ${MEMBER} of ${BYTES} bytes`)
    return bytes
  } catch (error) {
    if (error instanceof KubernetesError && error.status === 404) return undefined
    throw error
  }
}

const newSecret = ({ namespace, name }: ProbeSecretOptions, bytes: Uint8Array): JsonObject => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { namespace, name },
  data: { [MEMBER]: Buffer.from(bytes).toString('base64') },
})

// gatehouse translate --for envoy-gateway and istio: prints the manifests that make a mesh's Envoys ask Gatehouse, as YAML.

import { randomBytes } from 'node:crypto'
import { targetsOf } from '../../addons/mesh/controller/export-targets.js'
import { exportEnvoyGateway } from '../../addons/mesh/export/envoy-gateway/export.js'
import { exportIstio } from '../../addons/mesh/export/istio/export.js'
import { type ExportProblem, manifestText } from '../../addons/mesh/export/manifest.js'
import type { Metadata, Resources } from '../../control/schema/kinds/resources.js'
import type { MeshRoute } from '../../model/mesh-route.js'
import type { Settings } from '../../ops/settings/settings.js'
import { reportCheck } from './check.js'
import type { CommandIo, ExitCode } from './command-io.js'
import { translateOffline } from './offline.js'

/** Prints all manifests or none: with only some of them, the other routes would be open. */
export async function exportManifests(settings: Settings, io: CommandIo): Promise<ExitCode> {
  const targets = targetsOf(settings)
  if (!targets.ok) {
    io.err(`gatehouse: ${targets.error}\n`)
    return 2
  }
  const offline = await translateOffline(settings)
  const report = reportCheck(offline, settings)
  const { mesh = [] } = offline.translation
  const to = {
    ...targets.value,
    ...(settings.sealed && { newSeal: () => randomBytes(32).toString('base64url') }),
  }
  const reader = settings.for === 'istio' ? 'istio' : 'envoy-gateway'
  const exported =
    reader === 'istio'
      ? exportIstio(mesh, offline.provider.resources.httpRoutes, {
          ...to,
          customProvider: settings.customProvider,
        })
      : exportEnvoyGateway(mesh, to)
  if (!report.isGood) io.err(report.text)
  if (!exported.ok) io.err(exported.error.map(problemText).join(''))
  if (!report.isGood || !exported.ok) return 1
  io.out(manifestText(exported.value))
  io.err(exportNotes(offline.provider.resources, mesh, reader).join(''))
  return 0
}

const problemText = ({ source, message }: ExportProblem): string =>
  `${source === undefined ? '' : `${source}: `}${message}\n`

// Notes about an export that is complete, but may not do what its reader expects.

/** The control planes that read each export, by the controllers of their GatewayClasses. */
const READERS = {
  'envoy-gateway': {
    name: 'Envoy Gateway',
    controller: 'gateway.envoyproxy.io/gatewayclass-controller',
  },
  istio: { name: 'Istio', controller: 'istio.io/gateway-controller' },
} as const

/**
 * Returns lines about Gateways whose controller may not read the manifests, and about HTTPRoutes without a policy.
 * routes: those that are exported.
 */
const exportNotes = (
  resources: Pick<Resources, 'gateways' | 'gatewayClasses' | 'httpRoutes'>,
  routes: readonly MeshRoute[],
  mesh: keyof typeof READERS,
): readonly string[] => [
  ...otherControllers(resources, routes, READERS[mesh]),
  ...openRoutes(resources, routes),
]

function otherControllers(
  { gateways, gatewayClasses }: Pick<Resources, 'gateways' | 'gatewayClasses'>,
  routes: readonly MeshRoute[],
  reader: { readonly name: string; readonly controller: string },
): readonly string[] {
  const controllers = new Map(
    gatewayClasses.map(({ metadata, spec }) => [metadata.name, spec.controllerName]),
  )
  const exported = new Set(routes.flatMap((route) => route.gateways.map(named)))
  return gateways.flatMap(({ spec, source, metadata }) => {
    const controller = controllers.get(spec.gatewayClassName)
    if (controller === undefined || controller === reader.controller) return []
    if (!exported.has(named(metadata))) return []
    return [
      `${source}: note: Gateway ${named(metadata)} is of ${controller}: the manifests protect its routes only if that is ${reader.name}\n`,
    ]
  })
}

/** Says how many HTTPRoutes stay as they are, apart from those of an earlier export. */
function openRoutes(
  { httpRoutes }: Pick<Resources, 'httpRoutes'>,
  routes: readonly MeshRoute[],
): readonly string[] {
  if (routes.length === 0) return ['note: no HTTPRoute has a policy: there is nothing to apply\n']
  const exported = new Set(
    routes.flatMap(({ namespace, name, documents }) =>
      [name, documents?.route ?? name].map((each) => named({ namespace, name: each })),
    ),
  )
  const open = httpRoutes.filter(({ metadata }) => !exported.has(named(metadata))).length
  if (open === 0) return []
  const which = `${open} of ${open + routes.length} HTTPRoutes`
  return [`note: ${which} have no policy, and stay as they are\n`]
}

const named = ({ namespace, name }: Pick<Metadata, 'namespace' | 'name'>): string =>
  `${namespace}/${name}`

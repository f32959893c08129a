// gatehouse translate --for envoy-gateway and istio: prints the manifests that make a mesh's Envoys ask Gatehouse, as YAML.

import { randomBytes } from 'node:crypto'
import { targetsOf } from '../app/cluster/export-targets.js'
import { exportEnvoyGateway } from '../export/envoy-gateway/export.js'
import { exportIstio } from '../export/istio/export.js'
import { type ExportProblem, manifestText } from '../export/manifest.js'
import type { Settings } from '../settings.js'
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
  if (!report.isGood) {
    io.err(report.text)
    return 1
  }
  const { mesh = [] } = offline.translation
  const to = {
    ...targets.value,
    ...(settings.sealed && { newSeal: () => randomBytes(32).toString('base64url') }),
  }
  const exported =
    settings.for === 'istio'
      ? exportIstio(mesh, offline.provider.resources.httpRoutes, {
          ...to,
          customProvider: settings.customProvider,
        })
      : exportEnvoyGateway(mesh, to)
  if (exported.ok) io.out(manifestText(exported.value))
  else io.err(exported.error.map(problemText).join(''))
  return exported.ok ? 0 : 1
}

const problemText = ({ source, message }: ExportProblem): string =>
  `${source === undefined ? '' : `${source}: `}${message}\n`

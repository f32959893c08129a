// gatehouse translate --for envoy-gateway and istio: prints the manifests that make a mesh's Envoys ask Gatehouse, as YAML.

import { randomBytes } from 'node:crypto'
import { targetsOf } from '../app/cluster/export-targets.js'
import { exportEnvoyGateway } from '../export/envoy-gateway/export.js'
import { exportIstio } from '../export/istio/export.js'
import { type ExportProblem, manifestText } from '../export/manifest.js'
import type { Settings } from '../settings.js'
import { reportCheck } from './check.js'
import type { CommandIo, ExitCode } from './command-io.js'
import { exportNotes } from './export-notes.js'
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

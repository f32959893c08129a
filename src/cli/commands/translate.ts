// gatehouse translate: prints one static Envoy configuration, or the fragment of it that an existing Envoy needs, as
// YAML.

import { stringify } from 'yaml'
import { ENVOY_CA_FILE } from '../../control/fetch/system-ca-file.js'
import type { Settings } from '../../ops/settings/settings.js'
import { bootstrapJson } from '../../xds/bootstrap/bootstrap.js'
import { fragmentOf } from '../../xds/bootstrap/fragment.js'
import { buildStaticConfig } from '../../xds/bootstrap/static-config.js'
import { reportCheck } from './check.js'
import type { CommandIo, ExitCode } from './command-io.js'
import { exportManifests } from './export.js'
import { translateOffline } from './offline.js'

/**
 * Prints nothing if a document cannot be read. A route that is refused because of its policy is part of the static
 * configuration, but an error in a fragment: whoever merges it could leave the refusing route out.
 */
export async function translate(settings: Settings, io: CommandIo): Promise<ExitCode> {
  if (settings.for === 'envoy-gateway' || settings.for === 'istio')
    return exportManifests(settings, io)
  const offline = await translateOffline(settings)
  const report = reportCheck(offline, settings)
  if (!report.isGood) io.err(report.text)
  const isFragment = settings.for === 'envoy'
  if (offline.provider.problems.length > 0 || (isFragment && !report.isGood)) return 1
  const { listenAddress, trustedHops, accessLog, connect, grpc, envoyAdmin } = settings
  const { otlp, traceSampling } = settings
  const config = buildStaticConfig(offline.translation.ir, {
    xds: {
      listenAddress,
      trustedHops,
      systemCaFile: ENVOY_CA_FILE,
      accessLog,
      ...(otlp !== undefined && { tracing: { otlp, sampling: traceSampling } }),
    },
    connection: { address: connect ?? grpc },
    envoyAdmin,
    certificates: 'inline',
  })
  const json = bootstrapJson(config)
  io.out(
    stringify(isFragment ? fragmentOf(json) : json, { lineWidth: 0, aliasDuplicateObjects: false }),
  )
  return 0
}

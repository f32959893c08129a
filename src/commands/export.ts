// gatehouse translate --for envoy-gateway and istio: prints the manifests that make a mesh's Envoys ask Gatehouse, as YAML.

import { randomBytes } from 'node:crypto'
import { isIP } from 'node:net'
import { exportEnvoyGateway } from '../export/envoy-gateway/export.js'
import { exportIstio } from '../export/istio/export.js'
import {
  type ExportAddress,
  type ExportProblem,
  type ExportTargets,
  manifestText,
} from '../export/manifest.js'
import { err, ok, type Result } from '../result.js'
import type { Settings } from '../settings.js'
import { formatAddress, isLoopback, type ServerAddress } from '../settings/values.js'
import { reportCheck } from './check.js'
import type { CommandIo, ExitCode } from './command-io.js'
import { translateOffline } from './offline.js'

/**
 * Default of --closed: nobody listens on the discard port. Envoy Gateway accepts loopback addresses only where its
 * Envoys run on its own host.
 */
const NOBODY: ExportAddress = { host: '127.0.0.1', port: 9 }

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

/** Reads the addresses from the flags. error: what is wrong with the command line. */
function targetsOf(settings: Settings): Result<ExportTargets, string> {
  const { connect, connectTls, grpc, closed, clusterDomain } = settings
  const address = connect ?? grpc
  if (settings.for === 'istio') return targetsOfIstio(address)
  if (address.type === 'unix')
    return err(
      `the Envoys of a mesh cannot be led to ${formatAddress(address)}; expected HOST:PORT in --connect`,
    )
  const gatehouse = withService(address, clusterDomain)
  const tls = connectTls === undefined ? {} : { serverName: connectTls }
  if (closed !== undefined)
    return ok({ gatehouse, ...tls, closed: withService(closed, clusterDomain) })
  return isLoopback(address)
    ? ok({ gatehouse, ...tls, closed: NOBODY })
    : err(
        '--closed is missing: beside --connect on another machine Envoys need the HOST:PORT of a Gatehouse with --closed',
      )
}

/** Finds the Service that a host names: NAME.NAMESPACE.svc.DOMAIN. */
function withService({ host, port }: ExportAddress, domain: string): ExportAddress {
  const suffix = `.svc.${domain}`
  const [name, namespace, ...more] = host.endsWith(suffix)
    ? host.slice(0, -suffix.length).split('.')
    : []
  return name === undefined || namespace === undefined || more.length > 0
    ? { host, port }
    : { host, port, service: { namespace, name } }
}

/** Requires a host name: istiod has clusters for hosts only. Routes that lead nowhere have a Service without endpoints. */
function targetsOfIstio(gatehouse: ServerAddress): Result<ExportTargets, string> {
  return gatehouse.type === 'tcp' && isIP(gatehouse.host) === 0 && gatehouse.host.includes('.')
    ? ok({ gatehouse, closed: NOBODY })
    : err(
        `Istio's gateways cannot be led to ${formatAddress(gatehouse)}; expected the full name of a Service in --connect, such as gatehouse.gatehouse.svc.cluster.local:18000`,
      )
}

const problemText = ({ source, message }: ExportProblem): string =>
  `${source === undefined ? '' : `${source}: `}${message}\n`

// Reads from the flags where the Envoys of a mesh reach Gatehouse.

import { isIP } from 'node:net'
import { err, ok, type Result } from '../../../kit/result.js'
import type { Settings } from '../../../ops/settings/settings.js'
import { formatAddress, isLoopback, type ServerAddress } from '../../../ops/settings/values.js'
import type { ExportAddress, ExportTargets } from '../export/manifest.js'

/**
 * Default of --closed: nobody listens on the discard port. Envoy Gateway accepts loopback addresses only where its
 * Envoys run on its own host.
 */
const NOBODY: ExportAddress = { host: '127.0.0.1', port: 9 }

/**
 * Reads the addresses from the flags. With serve, --closed is where Gatehouse listens; Envoys reach it at the host of
 * --connect. error: what is wrong with the command line.
 */
export function targetsOf(settings: Settings): Result<ExportTargets, string> {
  const { command, connect, connectTls, grpc, clusterDomain } = settings
  const address = connect ?? grpc
  if (settings.for === 'istio') return targetsOfIstio(address, settings.requirePolicy)
  if (address.type === 'unix')
    return err(
      `the Envoys of a mesh cannot be led to ${formatAddress(address)}; expected HOST:PORT in --connect`,
    )
  const gatehouse = withService(address, clusterDomain)
  const closed =
    command === 'serve' && settings.closed !== undefined
      ? { host: address.host, port: settings.closed.port }
      : settings.closed
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
function targetsOfIstio(
  gatehouse: ServerAddress,
  requirePolicy: boolean,
): Result<ExportTargets, string> {
  return gatehouse.type === 'tcp' && isIP(gatehouse.host) === 0 && gatehouse.host.includes('.')
    ? ok({ gatehouse, closed: NOBODY, requirePolicy })
    : err(
        `Istio's gateways cannot be led to ${formatAddress(gatehouse)}; expected the full name of a Service in --connect, such as gatehouse.gatehouse.svc.cluster.local:18000`,
      )
}

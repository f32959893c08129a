// The transports between an Envoy and Gatehouse: a Unix socket, plain TCP, TLS and mutual TLS.

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { GatehouseConnection } from '../../src/xds/bootstrap/gatehouse-clusters.js'
import { selfSigned } from './certificates.js'

/** Both ends of a transport. */
export interface Transport {
  /** The connection for the Envoy's bootstrap. */
  readonly connection: GatehouseConnection
  /** Flags for Gatehouse. */
  readonly flags: readonly string[]
}

export type TransportName = 'a Unix socket' | 'plain TCP' | 'TLS' | 'mutual TLS'

/**
 * Creates a transport.
 * @param folder folder for a socket or certificates.
 * @param port a free port.
 */
export function makeTransport(
  name: TransportName,
  folder: string,
  port: number,
): Promise<Transport> {
  if (name === 'TLS' || name === 'mutual TLS') return secured(folder, port, name === 'mutual TLS')
  return Promise.resolve(name === 'plain TCP' ? overTcp(port) : overUnix(join(folder, 'grpc.sock')))
}

const overUnix = (path: string): Transport => ({
  connection: { address: { type: 'unix', path } },
  flags: ['--grpc', `unix:${path}`],
})

const overTcp = (port: number): Transport => ({
  connection: { address: { type: 'tcp', host: '127.0.0.1', port } },
  flags: ['--grpc', `127.0.0.1:${String(port)}`],
})

async function secured(folder: string, port: number, mutual: boolean): Promise<Transport> {
  const file = async (name: string, text: string): Promise<string> => {
    await writeFile(join(folder, name), text)
    return join(folder, name)
  }
  const own = selfSigned('gatehouse.example')
  const envoys = selfSigned('envoy.example')
  const { connection, flags } = overTcp(port)
  const caFile = await file('cert.pem', own.cert)
  const certFile = await file('envoy.pem', envoys.cert)
  const clientCertificate = { certFile, keyFile: await file('envoy-key.pem', envoys.key) }
  return {
    connection: {
      ...connection,
      tls: {
        ca: { file: caFile },
        serverName: 'gatehouse.example',
        ...(mutual && { clientCertificate }),
      },
    },
    flags: [
      ...flags,
      '--grpc-tls-cert',
      caFile,
      '--grpc-tls-key',
      await file('key.pem', own.key),
      ...(mutual ? ['--grpc-client-ca', certFile] : []),
    ],
  }
}

// Starts the admin server and, where the pages for people have an address of their own, a second server for them.

import type { Logger } from '../../kit/logger.js'
import { type AdminSource, startAdminServer } from '../../ops/admin/admin-server.js'
import { openTokenFile } from '../../ops/admin/token-file.js'
import type { Settings } from '../../ops/settings/settings.js'
import type { ServerAddress } from '../../ops/settings/values.js'

/** The bound admin servers. */
export interface AdminServers {
  /** Address of --admin as bound. */
  readonly address: string
  /** Address of the status page, as bound; absent if it is not served. */
  readonly status?: string
  close(): Promise<void>
}

/** Default in a cluster. Envoy or another container of the pod can be pointed at loopback: the pages need a token. */
const IN_CLUSTER: ServerAddress = { type: 'tcp', host: '127.0.0.1', port: 18_002 }

/** Rejects when an address cannot be bound or the token cannot be read or created; nothing is left bound then. */
export async function startAdminServers(
  settings: Settings,
  source: AdminSource,
  logger: Logger,
): Promise<AdminServers> {
  const { admin, adminTokenFile, kubernetes, status } = settings
  const token = adminTokenFile === undefined ? undefined : await openTokenFile(adminTokenFile)
  const common = { source, logger, ...(token && { token }) }
  if (status === undefined && !kubernetes) {
    const server = await startAdminServer({ ...common, address: admin, pages: 'all' })
    return { address: server.address, status: server.address, close: () => server.close() }
  }
  const probes = await startAdminServer({ ...common, address: admin, pages: 'probes' })
  if (kubernetes && token === undefined) {
    logger.info({}, 'no status page: --kubernetes serves it only with --admin-token-file')
    return probes
  }
  try {
    const address = status ?? IN_CLUSTER
    const pages = await startAdminServer({ ...common, address, pages: 'all' })
    const close = async (): Promise<void> => {
      await Promise.all([probes.close(), pages.close()])
    }
    return { address: probes.address, status: pages.address, close }
  } catch (error) {
    await probes.close()
    throw error
  }
}

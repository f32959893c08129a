// The definitions (CRDs) in the cluster.

import { ApiError } from '../../../testing/api-call.js'
import { apiClient } from '../../../testing/api-client.js'
import { definitions, listPath } from '../../../testing/api-server.js'
import { eventually } from '../../../testing/eventually.js'
import { ADMIN, SERVER } from './programs.js'

const api = apiClient(SERVER, ADMIN)

const gatewayApi = (): readonly object[] =>
  definitions().filter((definition) =>
    listPath(definition).startsWith('/apis/gateway.networking.k8s.io/'),
  )

/** Installs Gatehouse's definitions too. Resolves when objects of every kind can be created. */
export async function installDefinitions(): Promise<void> {
  await api.apply(...definitions())
  for (const definition of definitions())
    await eventually(() => api.call('GET', listPath(definition)), 30_000)
}

/** Removes the definitions and all objects of their kinds. Resolves when the API server no longer serves them. */
export async function removeGatewayApi(): Promise<void> {
  await api.delete(...gatewayApi())
  for (const definition of gatewayApi())
    await eventually(async () => {
      const gone = await api.call('GET', listPath(definition)).then(
        () => false,
        (error: unknown) => error instanceof ApiError && error.status === 404,
      )
      if (!gone) throw new Error('a definition of the Gateway API is still served')
    }, 60_000)
}

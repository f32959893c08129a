// Runs once before these tests: starts the cluster and installs the definitions of the Gateway API.

import { apiClient } from '../../kubernetes/support/api-client.js'
import { definitions } from '../../kubernetes/support/api-server.js'
import { ADMIN, SERVER, startPrograms } from './programs.js'

export async function setup(): Promise<void> {
  await startPrograms()
  const api = apiClient(SERVER, ADMIN)
  const gatewayApi = definitions().filter((definition) =>
    JSON.stringify(definition).includes('gateway.networking.k8s.io'),
  )
  await api.apply(...gatewayApi)
}

// A cluster with one application behind a Gateway and a policy on its route, for end-to-end tests.

import { ADDRESS, type ApiServer } from '../../../testing/api-server.js'
import { freePort } from '../../../testing/ports.js'
import { startBackend } from '../../support/backend.js'
import { gateway, httpRoute } from '../../support/resources.js'
import { endpointSlice, gatewayClass, policy, service } from './objects.js'
import { apiServerFor } from './shared-api-server.js'

/** The Gateway is default/gw; the application's objects are called "app". */
export interface AppCluster {
  readonly api: ApiServer
  /** Origin of the Gateway's listener. */
  readonly url: string
  /**
   * Sets the policy, which is called "rule".
   * @param expression the condition that requests must meet.
   */
  allow(expression: string): Promise<void>
  /** Resolves to the status of a request with this method. */
  statusOf(method: string): Promise<number>
  close(): Promise<void>
}

/**
 * Starts the cluster with a policy that allows only GET.
 * @param options absent for an API server that is shared with other files.
 */
export async function startAppCluster(
  options?: Parameters<typeof apiServerFor>[0],
): Promise<AppCluster> {
  const port = await freePort()
  const url = `http://127.0.0.1:${String(port)}/`
  const backend = await startBackend('app', { host: ADDRESS })
  const api = await apiServerFor(options)
  const allow = (expression: string): Promise<void> =>
    api.apply(policy('rule', { authorization: { policy: { matchExpressions: [expression] } } }))
  await api.apply(
    gatewayClass(),
    gateway([port]),
    service('app'),
    endpointSlice('app', [{ address: ADDRESS, port: backend.port }]),
    httpRoute('app', { rules: [{ backendRefs: [{ name: 'app', port: 80 }] }] }),
  )
  await allow('request.method == "GET"')
  return {
    api,
    url,
    allow,
    statusOf: async (method) => (await fetch(url, { method })).status,
    close: async () => {
      await backend.close()
      await api.close()
    },
  }
}

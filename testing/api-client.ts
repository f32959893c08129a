// Reads and writes objects of an API server as one user.

import {
  type AnyObject,
  ApiError,
  type Call,
  callApi,
  pathOf,
  withoutConflict,
} from './api-call.js'

export interface ApiClient {
  /** Makes any call. Rejects with an ApiError unless the answer is 2xx. */
  call(method: Call['method'], path: string, body?: object): Promise<AnyObject>
  /** Creates or replaces each object. */
  apply(...objects: readonly object[]): Promise<void>
  delete(...objects: readonly object[]): Promise<void>
  get(apiVersion: string, kind: string, name: string, namespace?: string): Promise<AnyObject>
}

export function apiClient(server: string, token: string): ApiClient {
  const call: ApiClient['call'] = (method, path, body) =>
    callApi({ server, token, method, path, ...(body && { body }) })
  return {
    call,
    apply: async (...all) => {
      for (const object of all) await put(call, object as AnyObject)
    },
    delete: async (...all) => {
      for (const object of all) await call('DELETE', pathOf(object as AnyObject))
    },
    get: (apiVersion, kind, name, namespace = 'default') =>
      call('GET', pathOf({ apiVersion, kind, metadata: { name, namespace } })),
  }
}

async function put(call: ApiClient['call'], object: AnyObject): Promise<void> {
  const path = pathOf(object)
  const list = path.slice(0, path.lastIndexOf('/'))
  try {
    await call('POST', list, object)
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 409) throw error
    await withoutConflict(async () => {
      const { resourceVersion } = (await call('GET', path)).metadata
      await call('PUT', path, { ...object, metadata: { ...object.metadata, resourceVersion } })
    })
  }
}

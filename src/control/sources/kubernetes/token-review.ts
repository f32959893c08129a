// Asks the API server whose token a client has sent.

import { isJsonObject } from '../../../model/json.js'
import type { KubernetesClient } from './client.js'

/**
 * Resolves to the user name of a token's owner; undefined: the token is not valid for the audience. Rejects
 * (KubernetesError) when the API server does not answer.
 */
export async function reviewToken(
  client: Pick<KubernetesClient, 'call'>,
  token: string,
  audience: string,
): Promise<string | undefined> {
  const { status } = await client.call('POST', '/apis/authentication.k8s.io/v1/tokenreviews', {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenReview',
    spec: { token, audiences: [audience] },
  })
  if (!isJsonObject(status) || status['authenticated'] !== true) return undefined
  const { audiences, user } = status
  // An API server that does not know audiences leaves them out: the token may be for anybody.
  if (!Array.isArray(audiences) || !audiences.includes(audience)) return undefined
  const name = isJsonObject(user) ? user['username'] : undefined
  return typeof name === 'string' ? name : undefined
}

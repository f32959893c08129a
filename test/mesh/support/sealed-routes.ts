// Policies of sealed routes, and chats with them.

import type { DocumentServer } from '../../support/document-server.js'
import { both, hook } from '../../support/guardrails.js'
import { bearer, send } from '../../support/http.js'
import { allow, proxyPolicy, remoteJwks } from '../../support/resources.js'
import { type SigningKey, signToken } from '../../support/tokens.js'

const ISSUER = 'https://idp.example'

/** Asks the webhook named "guardrail" about prompts and replies of the route of this name. */
export const guard = (name: string): object => ({
  apiVersion: 'policy.gatehouse.dev/v1alpha1',
  kind: 'ProxyPolicy',
  metadata: { name: `${name}-guard` },
  spec: {
    targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name }],
    backend: { ai: { promptGuard: both(hook('guardrail')) } },
  },
})

/** Requires a token of the issuer, whose keys are at /jwks of the ProxyBackend "idp", on the route of this name. */
export const callers = (name: string, idp: DocumentServer): object =>
  proxyPolicy(name, name, {
    jwtAuthentication: {
      mode: 'Strict',
      providers: [{ issuer: ISSUER, jwks: remoteJwks('idp', idp.port, '/jwks') }],
    },
    authorization: allow('true'),
  })

export const issuedToken = (key: SigningKey): Promise<string> =>
  signToken({ key, claims: { iss: ISSUER } })

let prompts = 0

/** Returns the text of a prompt that has not been sent before. */
export const newPrompt = (): string => `Hello ${String((prompts += 1))}.`

/** Sends a chat with the token to a URL, whose text is new unless one is given. */
export const sendChat = async (
  url: { readonly origin: string; readonly path: string },
  token: string,
  content = newPrompt(),
): ReturnType<typeof send> =>
  send(url.origin, url.path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...bearer(token) },
    body: JSON.stringify({ model: 'sample', messages: [{ role: 'user', content }] }),
  })

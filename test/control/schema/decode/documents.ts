// Decodes documents as users write them, and lists their problems.

import { kindsOf } from '../../../../src/control/schema/kinds/kinds.js'
import { decodeFile } from '../../../../src/control/sources/files/file-record.js'

export const decode = (text: string, apiGroup = 'policy.gatehouse.dev') =>
  decodeFile(Buffer.from(text), 'f.yaml', kindsOf(apiGroup))

export const problemsOf = (text: string) =>
  decode(text).problems.map(({ source, message }) => `${source} ${message}`)

export const HEADS = {
  ProxyPolicy: 'apiVersion: policy.gatehouse.dev/v1alpha1',
  ProxyBackend: 'apiVersion: policy.gatehouse.dev/v1alpha1',
  ProxyParameters: 'apiVersion: policy.gatehouse.dev/v1alpha1',
  GatewayClass: 'apiVersion: gateway.networking.k8s.io/v1',
  Gateway: 'apiVersion: gateway.networking.k8s.io/v1',
  HTTPRoute: 'apiVersion: gateway.networking.k8s.io/v1',
  BackendTLSPolicy: 'apiVersion: gateway.networking.k8s.io/v1',
  ReferenceGrant: 'apiVersion: gateway.networking.k8s.io/v1',
  Service: 'apiVersion: v1',
  Secret: 'apiVersion: v1',
  ConfigMap: 'apiVersion: v1',
  EndpointSlice: 'apiVersion: discovery.k8s.io/v1',
}
export type KindName = keyof typeof HEADS

/** Three lines of head (apiVersion, kind, metadata), then the body: its first line is line 4. */
export const resource = (kind: KindName, body: string) =>
  `${HEADS[kind]}\nkind: ${kind}\nmetadata: { name: x }\n${body}`

export const TARGET = `targetRefs: [{ group: gateway.networking.k8s.io, kind: HTTPRoute, name: r }]`

/** The policy's provider is on line 8. */
export const withProvider = (provider: string) =>
  `spec:\n  ${TARGET}\n  traffic:\n    jwtAuthentication:\n      providers: [${provider}]`
export const PROVIDER = `{ issuer: i, jwks: { inline: '{}' } }`
/** The mcp object begins on line 10. */
export const withMcp = (mcp: string) => `${withProvider(PROVIDER)}\n      mcp:\n        ${mcp}`
/** The webhook is on line 9. */
export const withWebhook = (webhook: string) =>
  `spec:\n  ${TARGET}\n  backend:\n    ai:\n      promptGuard:\n        request: [{ webhook: ${webhook} }]`

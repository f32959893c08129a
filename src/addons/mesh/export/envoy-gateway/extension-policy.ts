// Builds the EnvoyExtensionPolicy for ext_proc, which identifies the route by its name (--route-key envoy-gateway).

import type { MeshRoute } from '../../../../model/mesh-route.js'
import { CLAIMS_NAMESPACE } from '../../../../model/names.js'
import { policyName, targetRef } from '../gateway-api.js'
import type { Manifest } from '../manifest.js'
import { type BackendRefs, manifestOf } from './names.js'

/** Exceeds the 10 s that a proxied registration may take. Has no effect in full duplex. */
const MESSAGE_TIMEOUT = '12s'

/** Processing mode for each kind of entry; Envoy sends the attributes with the request headers. */
const MODES = {
  guard: {
    request: { body: 'FullDuplexStreamed', attributes: ['xds.route_name'] },
    // A denial by ext_authz is a response whose request ext_proc has not seen.
    response: { body: 'FullDuplexStreamed', attributes: ['xds.route_name'] },
  },
  // The client's address is for the limit on logins at a relay, which applies to each client network.
  documents: { request: { body: 'Buffered', attributes: ['xds.route_name', 'source.address'] } },
} as const

/** Returns no manifest for a route that no webhook guards. */
export const extensionPolicy = (
  { namespace, name, isGuarded }: MeshRoute,
  refs: BackendRefs,
): readonly Manifest[] =>
  isGuarded ? [extProcPolicy({ namespace, name: policyName(name) }, name, 'guard', refs)] : []

/** on: name of an HTTPRoute in the same namespace. */
export const extProcPolicy = (
  { namespace, name }: { readonly namespace: string; readonly name: string },
  on: string,
  mode: keyof typeof MODES,
  { gatehouse }: BackendRefs,
): Manifest =>
  manifestOf('EnvoyExtensionPolicy', namespace, name, {
    targetRefs: [targetRef('HTTPRoute', on)],
    extProc: [
      {
        backendRefs: [gatehouse],
        failOpen: false,
        statusOnError: 503,
        messageTimeout: MESSAGE_TIMEOUT,
        // Claims of a verified token, which expressions for webhook headers may read.
        ...(mode === 'documents' ? {} : { metadata: { accessibleNamespaces: [CLAIMS_NAMESPACE] } }),
        processingMode: MODES[mode],
      },
    ],
  })

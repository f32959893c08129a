// EnvoyExtensionPolicy: ext_proc, which knows the route by its name (--route-key envoy-gateway).

import type { MeshRoute } from '../../ir/mesh-route.js'
import { CLAIMS_NAMESPACE } from '../../ir/names.js'
import type { Manifest } from '../manifest.js'
import { GATEHOUSE_BACKEND, manifestOf, policyName, targetRef, toBackend } from './names.js'

/** Above the 10 s that a proxied registration may take. Does not apply in full duplex. */
const MESSAGE_TIMEOUT = '12s'

/** What ext_proc is asked for by each kind of entry; attributes are sent with the headers of a request. */
const MODES = {
  guard: {
    request: { body: 'FullDuplexStreamed', attributes: ['xds.route_name'] },
    response: { body: 'FullDuplexStreamed' },
  },
  // Logins at a relay are bounded for each network of clients.
  documents: { request: { body: 'Buffered', attributes: ['xds.route_name', 'source.address'] } },
} as const

/** None: no webhook guards the route. */
export const extensionPolicy = ({ namespace, name, isGuarded }: MeshRoute): readonly Manifest[] =>
  isGuarded ? [extProcPolicy({ namespace, name: policyName(name) }, name, 'guard')] : []

/** on: an HTTPRoute of the same namespace. */
export const extProcPolicy = (
  { namespace, name }: { readonly namespace: string; readonly name: string },
  on: string,
  mode: keyof typeof MODES,
): Manifest =>
  manifestOf('EnvoyExtensionPolicy', namespace, name, {
    targetRefs: [targetRef('HTTPRoute', on)],
    extProc: [
      {
        backendRefs: [toBackend(GATEHOUSE_BACKEND)],
        failOpen: false,
        statusOnError: 503,
        messageTimeout: MESSAGE_TIMEOUT,
        // Claims of a verified token, which headers towards webhooks may read.
        ...(mode === 'documents' ? {} : { metadata: { accessibleNamespaces: [CLAIMS_NAMESPACE] } }),
        processingMode: MODES[mode],
      },
    ],
  })

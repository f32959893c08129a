// Reads from --for whose Gateways the translation is about.

import type { Mesh } from '../../model/mesh-route.js'
import type { Settings } from '../../ops/settings/settings.js'

/** Empty for Gatehouse's own Gateways: without --for, and with --for envoy, an Envoy that is configured by hand. */
export const meshOf = ({ for: mesh }: Settings): { readonly mesh?: Mesh } =>
  mesh === undefined || mesh === 'envoy' ? {} : { mesh }

/** Whether this Gatehouse applies what the Envoys of the mesh need, and probes its routes. */
export const isMeshController = (settings: Settings): boolean =>
  settings.kubernetes && meshOf(settings).mesh !== undefined

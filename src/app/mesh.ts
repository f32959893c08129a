// --for → whose Gateways the translation is about.

import type { Mesh } from '../ir/mesh-route.js'
import type { Settings } from '../settings.js'

/** Without --for they are Gatehouse's own, and so are those of an Envoy that somebody configures by hand. */
export const meshOf = ({ for: mesh }: Settings): { readonly mesh?: Mesh } =>
  mesh === undefined || mesh === 'envoy' ? {} : { mesh }

// What is done about a body before the check that needs it, so that no client makes Envoy hold much of it for long.

import { uncheckedBodyKey } from '../../ir/names.js'
import type { Route } from '../../ir/route.js'
import type { Attachment } from '../policies/attachments.js'

/** Returns the fields of a route; key: of its rule. */
export function uncheckedBodyOf(
  { readsMcp, jwt }: Attachment,
  key: string,
): Pick<Route, 'checksHead' | 'uncheckedBody'> {
  if (!readsMcp) return {}
  const uncheckedBody = uncheckedBodyKey(key)
  return jwt?.jwt?.jwt.mode === 'Strict' ? { checksHead: true, uncheckedBody } : { uncheckedBody }
}

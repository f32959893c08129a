// What is done about a body before the check that needs it, so that no client makes Envoy hold much of it for long.

import { uncheckedBodyKey } from '../../../model/names.js'
import type { Route } from '../../../model/route.js'
import type { Attachment } from '../policies/attachments.js'

/** Returns the fields of a route; key: of its rule. */
export function uncheckedBodyOf(
  attachment: Attachment,
  key: string,
): Pick<Route, 'checksHead' | 'uncheckedBody'> {
  const checksHead = requiresToken(attachment) ? ({ checksHead: true } as const) : {}
  if (attachment.readsMcp) return { ...checksHead, uncheckedBody: uncheckedBodyKey(key) }
  // An audit refuses nothing, so it does not hold the body either.
  return attachment.audit?.readsMcp === true ? checksHead : {}
}

/** Whether every request of a route must have a valid token. */
export const requiresToken = ({ jwt }: Pick<Attachment, 'jwt'>): boolean =>
  jwt?.jwt?.jwt.mode === 'Strict'

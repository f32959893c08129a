// What ext_authz passes to ext_proc about a request for lists, in Envoy's metadata: the requested lists, and what rules
// can read about the caller. The claims are passed separately.

import type { Attributes, RequestAttributes, SourceAttributes } from '../cel/attributes.js'
import type { AskedList, AskedLists } from '../mcp/lists.js'

/** A request for lists. */
export interface ListRequest {
  readonly asked: AskedLists
  /** Attributes without the claims. */
  readonly attributes: Attributes
}

interface Written {
  readonly asked: AskedLists
  readonly source?: SourceAttributes
  readonly request: Omit<RequestAttributes, 'headers'> & {
    readonly headers: readonly (readonly [string, string | readonly string[]])[]
  }
}

/** Headers that are not passed on. A rule that reads one finds nothing, and hides the items it would decide about. */
const SECRETS = ['authorization', 'cookie']

/** Returns the request as text for the metadata. */
export function listRequestText({ request, source }: Attributes, asked: AskedLists): string {
  if (request === undefined) throw new Error('no request')
  const written: Written = {
    asked: asked === 'all' ? asked : asked.map(listed),
    ...(source && { source }),
    request: {
      ...request,
      headers: [...request.headers].filter(([name]) => !SECRETS.includes(name)),
    },
  }
  return JSON.stringify(written)
}

const listed = ({ id, method, protocolVersion = '' }: AskedList): AskedList => ({
  id,
  method,
  ...(protocolVersion === '' ? {} : { protocolVersion }),
})

/** text: result of listRequestText(). */
export function parseListRequest(text: string): ListRequest {
  const { asked, source, request } = JSON.parse(text) as Written
  const attributes = { source, request: { ...request, headers: new Map(request.headers) } }
  return { asked, attributes }
}

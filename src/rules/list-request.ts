// What ext_authz tells ext_proc of a request for a list, in Envoy's metadata: what was asked for, and what rules can read of
// who asked. The claims stand beside it.

import type { Attributes, RequestAttributes, SourceAttributes } from '../cel/attributes.js'
import type { AskedLists } from '../mcp/lists.js'

export interface ListRequest {
  readonly asked: AskedLists
  /** Without the claims. */
  readonly attributes: Attributes
}

interface Written {
  readonly asked: AskedLists
  readonly source?: SourceAttributes
  readonly request: Omit<RequestAttributes, 'headers'> & {
    readonly headers: readonly (readonly [string, string | readonly string[]])[]
  }
}

/** A rule that reads one finds nothing, and hides what it would decide about. */
const SECRETS = ['authorization', 'cookie']

export function listRequestText({ request, source }: Attributes, asked: AskedLists): string {
  if (request === undefined) throw new Error('no request')
  const written: Written = {
    asked: asked === 'all' ? asked : asked.map(({ id, method }) => ({ id, method })),
    ...(source && { source }),
    request: {
      ...request,
      headers: [...request.headers].filter(([name]) => !SECRETS.includes(name)),
    },
  }
  return JSON.stringify(written)
}

/** text: of listRequestText(). */
export function parseListRequest(text: string): ListRequest {
  const { asked, source, request } = JSON.parse(text) as Written
  const attributes = { source, request: { ...request, headers: new Map(request.headers) } }
  return { asked, attributes }
}

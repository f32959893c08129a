// Adds the headers that MCP clients in browsers need to the CORS filter of a route with mcp (decision 13a).

import type { Cors } from '../../../model/route.js'

const ALLOW_HEADERS = [
  'Mcp-Protocol-Version',
  'Mcp-Session-Id',
  'Last-Event-ID',
  'Mcp-Method',
  'Mcp-Name',
]
const EXPOSE_HEADERS = ['WWW-Authenticate', 'Mcp-Session-Id']

/** A CORS filter with the headers of MCP. */
export interface ExtendedCors {
  readonly cors: Cors
  /** Added headers, for the condition message; empty if nothing was missing. */
  readonly added: readonly string[]
}

/** Adds the headers of MCP to a CORS filter. */
export function extendCorsForMcp(cors: Cors): ExtendedCors {
  // A single "*" allows all headers; next to another name it would be literal.
  const allow = cors.allowHeaders.includes('*') ? [] : missing(cors.allowHeaders, ALLOW_HEADERS)
  const expose = missing(cors.exposeHeaders, EXPOSE_HEADERS)
  return {
    cors: {
      ...cors,
      allowHeaders: [...cors.allowHeaders, ...allow],
      exposeHeaders: [...cors.exposeHeaders, ...expose],
    },
    added: [
      ...(allow.length > 0 ? [`allowHeaders ${allow.join(', ')}`] : []),
      ...(expose.length > 0 ? [`exposeHeaders ${expose.join(', ')}`] : []),
    ],
  }
}

function missing(present: readonly string[], needed: readonly string[]): readonly string[] {
  const known = new Set(present.map((name) => name.toLowerCase()))
  return needed.filter((name) => !known.has(name.toLowerCase()))
}

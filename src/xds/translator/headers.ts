// Header modifiers → the four header fields that Envoy's routes and weighted clusters share.

import type { Json } from '../../ir/json.js'
import type { Header, HeaderModifier } from '../../ir/route.js'
import { unlessEmpty } from './json-object.js'

/** Envoy refuses a configuration that touches these; the Host is changed by a rewrite (host-rewrite.ts). */
const isRoutingHeader = (name: string): boolean =>
  name.startsWith(':') || name.toLowerCase() === 'host'

/** envoy.config.core.v3.HeaderValueOption; "%" begins a substitution there, "%%" stands for itself. */
const headerValueOption =
  (appendAction: string) =>
  (header: Header): Json => ({
    header: { key: header.name, value: header.value.replaceAll('%', '%%') },
    append_action: appendAction,
    keep_empty_value: true,
  })

function toAdd(modifier: HeaderModifier | undefined): readonly Json[] | undefined {
  const wanted = (headers: readonly Header[] = []) =>
    headers.filter((header) => !isRoutingHeader(header.name))
  return unlessEmpty([
    ...wanted(modifier?.set).map(headerValueOption('OVERWRITE_IF_EXISTS_OR_ADD')),
    ...wanted(modifier?.add).map(headerValueOption('APPEND_IF_EXISTS_OR_ADD')),
  ])
}

const toRemove = (
  modifier: HeaderModifier | undefined,
  further: readonly string[] = [],
): readonly string[] | undefined =>
  unlessEmpty([
    ...new Set([...further, ...(modifier?.remove ?? []).filter((name) => !isRoutingHeader(name))]),
  ])

export interface HeaderModifiers {
  readonly requestHeaders?: HeaderModifier | undefined
  readonly responseHeaders?: HeaderModifier
}

/** responseHeadersToRemove: names beside those of the modifier. */
export const headerFields = (
  modifiers: HeaderModifiers,
  responseHeadersToRemove: readonly string[] = [],
): Readonly<Record<string, Json | undefined>> => ({
  request_headers_to_add: toAdd(modifiers.requestHeaders),
  request_headers_to_remove: toRemove(modifiers.requestHeaders),
  response_headers_to_add: toAdd(modifiers.responseHeaders),
  response_headers_to_remove: toRemove(modifiers.responseHeaders, responseHeadersToRemove),
})

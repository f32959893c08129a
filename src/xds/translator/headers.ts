// Converts header modifiers into the four header fields that Envoy's routes and weighted clusters share.

import { create } from '@bufbuild/protobuf'
import type { Header, HeaderModifier } from '../../model/route.js'
import {
  type HeaderValueOption,
  HeaderValueOption_HeaderAppendAction as AppendAction,
  HeaderValueOptionSchema,
} from '../../wire/grpc/generated/envoy/config/core/v3/base_pb.js'

/** Whether Envoy would reject a configuration that changes the header; a rewrite changes the Host (forward.ts). */
const isRoutingHeader = (name: string): boolean =>
  name.startsWith(':') || name.toLowerCase() === 'host'

/** Returns a header option. In it "%" begins a substitution, and "%%" stands for "%". */
const headerValueOption =
  (appendAction: AppendAction) =>
  ({ name, value }: Header): HeaderValueOption =>
    create(HeaderValueOptionSchema, {
      header: { key: name, value: value.replaceAll('%', '%%') },
      appendAction,
      keepEmptyValue: true,
    })

const toSet = headerValueOption(AppendAction.OVERWRITE_IF_EXISTS_OR_ADD)
const toAppend = headerValueOption(AppendAction.APPEND_IF_EXISTS_OR_ADD)

function toAdd(modifier: HeaderModifier | undefined): HeaderValueOption[] {
  const wanted = (headers: readonly Header[] = []) =>
    headers.filter((header) => !isRoutingHeader(header.name))
  return [...wanted(modifier?.set).map(toSet), ...wanted(modifier?.add).map(toAppend)]
}

const toRemove = (
  modifier: HeaderModifier | undefined,
  further: readonly string[] = [],
): string[] => [
  ...new Set([...further, ...(modifier?.remove ?? []).filter((name) => !isRoutingHeader(name))]),
]

/** Changes of request and response headers. */
export interface HeaderModifiers {
  readonly requestHeaders?: HeaderModifier | undefined
  readonly responseHeaders?: HeaderModifier
}

/** The header fields of envoy.config.route.v3.Route and of ClusterWeight. */
export interface HeaderFields {
  readonly requestHeadersToAdd: HeaderValueOption[]
  readonly requestHeadersToRemove: string[]
  readonly responseHeadersToAdd: HeaderValueOption[]
  readonly responseHeadersToRemove: string[]
}

/** Returns the header fields. responseHeadersToRemove has names in addition to those of the modifier. */
export const headerFields = (
  modifiers: HeaderModifiers,
  responseHeadersToRemove: readonly string[] = [],
): HeaderFields => ({
  requestHeadersToAdd: toAdd(modifiers.requestHeaders),
  requestHeadersToRemove: toRemove(modifiers.requestHeaders),
  responseHeadersToAdd: toAdd(modifiers.responseHeaders),
  responseHeadersToRemove: toRemove(modifiers.responseHeaders, responseHeadersToRemove),
})

// Builds the authorization-server metadata (RFC 8414 section 2): the provider's, as changed by decisions 10 and 10a.

import { isJsonObject, type Json, type JsonObject } from '../../model/json.js'
import type { McpPaths, ServerMetadata } from '../../model/proc-entry.js'
import { mcpUrl } from './base-url.js'
import { registrationPath } from './paths.js'

/** URL members that do not match URL_NAME. */
const URL_NAMES = new Set(['issuer', 'service_documentation', 'check_session_iframe'])
const URL_NAME = /_(?:endpoint|uri|url)$/
const ALIASES = 'mtls_endpoint_aliases'

/** Returns the document; undefined if the provider's was never fetched. base: from baseUrl(). */
export function buildServerMetadata(
  { discovery, metadataIssuer, clientIdConfigured }: ServerMetadata,
  paths: McpPaths,
  base: string,
): JsonObject | undefined {
  if (discovery === undefined) return undefined
  const issuer: JsonObject = metadataIssuer === 'Gateway' ? { issuer: mcpUrl(base, paths) } : {}
  const dropped = [
    // With it, clients would use their own URL as client_id instead of registering.
    ...(clientIdConfigured ? ['client_id_metadata_document_supported'] : []),
    // With it, clients would expect an iss that names the gateway (RFC 9207).
    ...(metadataIssuer === 'Gateway' ? ['authorization_response_iss_parameter_supported'] : []),
  ]
  return {
    code_challenge_methods_supported: ['S256'],
    ...publishable(discovery, dropped),
    ...issuer,
    registration_endpoint: base + registrationPath(paths.mcpPath),
  }
}

/** Omits null members and URLs that are empty, relative or not HTTP: clients reject a document that contains one. */
const publishable = (document: JsonObject, dropped: readonly string[]): JsonObject =>
  Object.fromEntries(
    Object.entries(document)
      .filter(([name, value]) => !dropped.includes(name) && isPublishable(name, value))
      .map(([name, value]) => [
        name,
        name === ALIASES && isJsonObject(value) ? publishable(value, []) : value,
      ]),
  )

function isPublishable(name: string, value: Json): boolean {
  if (value === null) return false
  return URL_NAMES.has(name) || URL_NAME.test(name) ? isHttpUrl(value) : true
}

const isHttpUrl = (value: Json): boolean =>
  typeof value === 'string' && /^https?:\/\//i.test(value) && URL.canParse(value)

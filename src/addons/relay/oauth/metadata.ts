// Builds the metadata of a relay (RFC 8414 section 2), with the gateway's endpoints instead of the provider's.

import { registrationPath, relayPath } from '../../../extauthz/oauth/paths.js'
import type { JsonObject } from '../../../model/json.js'
import type { McpPaths } from '../../../model/proc-entry.js'
import type { Relay } from '../../../model/relay.js'

/** base: the gateway's origin. */
export const buildRelayMetadata = (
  relay: Relay,
  { mcpPath }: McpPaths,
  base: string,
): JsonObject => ({
  issuer: relay.issuer,
  authorization_endpoint: base + relayPath(mcpPath, 'authorize'),
  token_endpoint: base + relayPath(mcpPath, 'token'),
  registration_endpoint: base + registrationPath(mcpPath),
  response_types_supported: ['code'],
  response_modes_supported: ['query'],
  grant_types_supported: ['authorization_code', 'refresh_token'],
  token_endpoint_auth_methods_supported: ['none'],
  code_challenge_methods_supported: ['S256'],
  authorization_response_iss_parameter_supported: true,
  ...(relay.scopes.length === 0 ? {} : { scopes_supported: relay.scopes }),
  ...(relay.clientMetadataHosts.length === 0
    ? {}
    : { client_id_metadata_document_supported: true }),
})
